// The members of a request's JSON, read with their types and ranges. The first that is wrong is what the request is
// refused with; unknown members are nobody's. Null is as good as absent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/errors.h"

namespace riftjit::server {

class Fields {
public:
    // The object and `where` it stands (a prefix for names in messages, like "options.") must outlive it.
    explicit Fields(const Json& object, std::string where = "") : object_(&object), where_(std::move(where)) {}

    const Json* find(const char* name) const;  // null: absent
    bool has(const char* name) const { return find(name) != nullptr; }

    std::optional<int64_t> integer(const char* name, int64_t low, int64_t high);
    std::optional<double> number(const char* name, double low, double high);
    std::optional<bool> boolean(const char* name);
    std::optional<std::string> text(const char* name);
    std::optional<std::vector<std::string>> texts(const char* name);          // an array of strings
    std::optional<std::vector<std::string>> text_or_texts(const char* name);  // or one alone
    const Json* object(const char* name);
    const Json* array(const char* name);

    // Sets the target if the member is there.
    template <class Integer>
    void read(const char* name, Integer& target, int64_t low, int64_t high) {
        if (const auto value = integer(name, low, high)) target = Integer(*value);
    }
    void read(const char* name, float& target, double low, double high) {
        if (const auto value = number(name, low, high)) target = float(*value);
    }
    void read(const char* name, bool& target) {
        if (const auto value = boolean(name)) target = *value;
    }

    void wrong(const char* name, const std::string& expected, const Json& found);
    void fail(ApiError error) {
        if (!error_) error_ = std::move(error);
    }
    Outcome<void> check() const {
        if (error_) return std::unexpected(*error_);
        return {};
    }

private:
    const Json* object_;
    std::string where_;
    std::optional<ApiError> error_;
};

// A request's body as an object. Refused: what is no JSON, nests too deep, or is something else.
Outcome<Json> parse_body(const std::string& body);

}  // namespace riftjit::server
