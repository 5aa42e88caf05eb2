// The process behind the stand-in for libamdhip64: answers what comes over its socket, until that is closed.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tests/hip_stand_in/protocol.h"

namespace riftjit::hip_stand_in {

inline constexpr int kSocket = 3;
inline constexpr int kInvalidValue = 1, kInvalidImage = 200, kNotFound = 500, kLaunchFailure = 719;  // HIP's errors

class Server {
public:
    virtual ~Server() = default;

    void serve() {
        Request request;
        while (read_all(kSocket, &request, sizeof request)) {
            std::vector<std::byte> payload(request.payload), result;
            if (!read_all(kSocket, payload.data(), payload.size())) return;
            Reply reply;
            reply.error = answer(request, payload, reply.value, result);
            reply.payload = result.size();
            if (!write_all(kSocket, &reply, sizeof reply) || !write_all(kSocket, result.data(), result.size())) return;
        }
    }

private:
    // An error of HIP's or 0; what is asked for is an address or a number in `value`, or bytes in `result`.
    virtual int answer(const Request& request, std::span<const std::byte> payload, uint64_t& value,
                       std::vector<std::byte>& result) = 0;
};

}  // namespace riftjit::hip_stand_in
