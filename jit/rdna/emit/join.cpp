#include "jit/rdna/emit/join.h"

#include <algorithm>

#include "jit/rdna/emit/rdna_kernel.h"

namespace riftjit::rdna {
namespace {

class JoinedKernel final : public KernelAssembler {
public:
    using KernelAssembler::KernelAssembler;

    void add(const JoinedPart& part, bool is_last) {
        std::optional<Label> next;
        if (!is_last) {
            next = label();
            s_cmp_ge_u32(launch_workgroup(), first_group_ + part.groups);
            s_cbranch_scc1(*next);
        }
        if (part.lanes < header_.max_flat_workgroup_size) {  // waves that the part has no use for
            const Sgpr is_needed = lane_mask();
            v_cmp_gt_u32(is_needed, part.lanes, launch_lane());
            keep_lanes(is_needed);
        }
        append(part.part, [&](Sgpr args, Sgpr workgroup) {
            s_add_u64(args, launch_args(), header_.kernarg_size);
            s_sub_co_u32(workgroup, launch_workgroup(), first_group_);
        });
        if (next) bind(*next);
        describe_arguments(part.part.header);
        header_.resources.lds_bytes = std::max(header_.resources.lds_bytes, part.part.header.resources.lds_bytes);
        first_group_ += part.groups;
    }
    void set_lanes(uint32_t lanes) { header_.max_flat_workgroup_size = lanes; }

private:
    void describe_arguments(const KernelCode& part) {
        for (KernelArgument argument : part.args) {
            argument.offset += header_.kernarg_size;
            header_.args.push_back(argument);
        }
        header_.kernarg_size += part.kernarg_size;
    }

    uint32_t first_group_ = 0;
};

}  // namespace

Result<KernelProgram> join(KernelTarget target, std::string name, std::span<const JoinedPart> parts,
                           PassOptions options) {
    try {
        JoinedKernel kernel(target, std::move(name));
        kernel.set_lanes(std::ranges::max(parts, {}, &JoinedPart::lanes).lanes);
        for (const JoinedPart& part : parts) kernel.add(part, &part == &parts.back());
        kernel.end();
        return kernel.finish(options);
    } catch (const AssemblyError& error) {
        return std::unexpected(Error{ErrorKind::Encoding, error.what()});
    }
}

}  // namespace riftjit::rdna
