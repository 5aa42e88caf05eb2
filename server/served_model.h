// A model that answers requests, with all that it takes.
#pragma once

#include <memory>

#include "engine/embedder.h"
#include "server/service.h"

namespace riftjit::server {

// What comes later uses what comes before.
struct ServedModel {
    std::unique_ptr<engine::Engine> engine;
    std::unique_ptr<engine::Embedder> embedder;  // null: the model writes texts
    std::shared_ptr<void> drafting;              // what its drafts use; may be null
    std::unique_ptr<engine::Scheduler> scheduler;
    std::unique_ptr<Service> service;
};

}  // namespace riftjit::server
