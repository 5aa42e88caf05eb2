// Rows of memory instructions that the software machine refuses to execute, by name, on some target that has them.
#pragma once

#include <set>
#include <string_view>

namespace riftjit::rdna {

inline const std::set<std::string_view> kRefusedMemoryRows = {
    // Graphics, ray tracing, typed buffers.
    "ds_ordered_count",
    "ds_add_gs_reg_rtn",
    "ds_sub_gs_reg_rtn",
    "ds_bvh_stack_rtn_b32",
    "buffer_load_format_x",
    "buffer_load_format_xy",
    "buffer_load_format_xyz",
    "buffer_load_format_xyzw",
    "buffer_store_format_x",
    "buffer_store_format_xy",
    "buffer_store_format_xyz",
    "buffer_store_format_xyzw",
    "buffer_load_d16_format_x",
    "buffer_load_d16_format_xy",
    "buffer_load_d16_format_xyz",
    "buffer_load_d16_format_xyzw",
    "buffer_store_d16_format_x",
    "buffer_store_d16_format_xy",
    "buffer_store_d16_format_xyz",
    "buffer_store_d16_format_xyzw",
    "buffer_load_d16_hi_format_x",
    "buffer_store_d16_hi_format_x",
    // The kernel driver, the host.
    "s_atc_probe",
    "s_atc_probe_buffer",
    "ds_gws_sema_release_all",
    "ds_gws_init",
    "ds_gws_sema_v",
    "ds_gws_sema_br",
    "ds_gws_sema_p",
    "ds_gws_barrier",
    // What no public description could be checked by.
    "global_load_block",
    "global_store_block",
    "global_load_tr_b64",
    "global_load_tr_b128",
    "global_atomic_ordered_add_b64",
    "scratch_load_block",
    "scratch_store_block",
};

}  // namespace riftjit::rdna
