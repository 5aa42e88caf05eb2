// What every kernel of this folder needs: who runs it, and a barrier that orders memory. Groups have 64 items.
#define GROUP __builtin_amdgcn_workgroup_id_x()
#define ITEM __builtin_amdgcn_workitem_id_x()
#define GLOBAL_ID (GROUP * 64 + ITEM)
#define BARRIER                                            \
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); \
    __builtin_amdgcn_s_barrier();                          \
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
