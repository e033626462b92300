// libstrata_ggml.so: libstrata_inject.so for programs of a shared ggml as they are, those of
// llama.cpp among them. A graph is the range `prefill` or `decode`, and in it are the parts of the
// model, layer by layer, with their operations. A decoded token is a step, to the next one. Nothing
// is stopped, and CUDA graphs stay whole. The dynamic linker puts these functions before ggml's own
// (LD_PRELOAD, as strata run does), which do the work.
//
//   g++ -std=c++17 -O2 -fPIC -shared -I include -I $LLAMA_CPP/ggml/include tools/ggml/ggml.cpp
//       -Wl,--version-script=tools/ggml/ggml.map -o libstrata_ggml.so -ldl
//   strata run --library ./libstrata_ggml.so -- llama-bench -m model.gguf
#include <strata/adapters/injection.hpp>
// Brings the implementation, so it comes first.
#include <strata/adapters/ggml.hpp>

#include <dlfcn.h>
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

/// The symbol of this name in a library of the process that is not this one. Python's libraries are
/// in no scope that dlsym searches by itself.
void* find_in_libraries(char const* name, void const* own) {
  std::vector<std::string> paths;
  auto const note = [](dl_phdr_info* library, std::size_t, void* list) {
    static_cast<std::vector<std::string>*>(list)->emplace_back(library->dlpi_name);
    return 0;
  };
  (void)dl_iterate_phdr(note, &paths);
  for (std::string const& path : paths) {
    void* const library = path.empty() ? nullptr : dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) continue;
    void* const found = dlsym(library, name);
    if (found != nullptr && found != own) return found;
  }
  return nullptr;
}

/// ggml's own function behind one of this library. Errors: ends the program where there is
/// none, as a call of a function that no library has does.
template <class Function>
Function* function_behind(Function* own, char const* name) {
  void* found = dlsym(RTLD_NEXT, name);
  if (found == nullptr) found = find_in_libraries(name, reinterpret_cast<void const*>(own));
  if (found == nullptr) {
    strata::detail::say((std::string("libstrata_ggml.so: no library has ") + name).c_str());
    std::abort();
  }
  return reinterpret_cast<Function*>(found);
}

/// How often a backend asks of a node whether it is empty.
enum class asking : unsigned char { unknown, once, twice };

/// What is known of the backends of this process. Threads: any.
class known_backends {
 public:
  static known_backends& instance() {
    static known_backends only;
    return only;
  }
  asking of(ggml_backend_t backend) {
    strata::detail::spin_lock const lock(mutex_);
    for (entry const& known : entries_)
      if (known.backend == backend) return known.asks;
    return asking::unknown;
  }
  /// Who was seen to ask twice does so.
  void learn(ggml_backend_t backend, asking asks) {
    strata::detail::spin_lock const lock(mutex_);
    for (entry& known : entries_) {
      if (known.backend != nullptr && known.backend != backend) continue;
      known.backend = backend;
      if (known.asks != asking::twice) known.asks = asks;
      return;
    }
  }

 private:
  struct entry {
    ggml_backend_t backend = nullptr;
    asking asks = asking::unknown;
  };
  static constexpr std::size_t most = 64;

  strata::detail::spin_mutex mutex_;
  entry entries_[most];
};

/// The graph that a backend computes in this thread, and the ranges of its nodes. A backend asks of
/// each node whether it is empty: as it plans the graph, and again as it launches the node, so that
/// the second time begins the node's range. One that launches a captured graph again asks the first
/// time only. Backends that do not plan ask once: theirs have ranges from the second graph on.
class computed_graph {
 public:
  static computed_graph& of_this_thread() {
    static thread_local computed_graph own;
    return own;
  }

  void begin(ggml_backend_t backend, ggml_cgraph* graph) {
    if (strata::detail::active_listener() == nullptr) return;
    backend_ = backend;
    nodes_ = ggml_graph_nodes(graph);
    count_ = ggml_graph_n_nodes(graph);
    while (count_ > 0 && is_idle(nodes_[count_ - 1])) --count_;
    asks_ = known_backends::instance().of(backend);
    next_ = 0;
    pass_ = pass::plan;
  }

  void end() {
    if (nodes_ == nullptr) return;
    operation_.end();
    part_.end();
    place_ = {};
    nodes_ = nullptr;
    if (pass_ == pass::plan) return;
    known_backends::instance().learn(backend_,
                                     pass_ == pass::launch ? asking::twice : asking::once);
  }

  /// Whether a node is empty is asked.
  void ask(ggml_tensor const* node) {
    if (nodes_ == nullptr || is_idle(node) || !advance(node)) return;
    if (pass_ == pass::planned) pass_ = pass::launch;
    if (pass_ == pass::launch || asks_ == asking::once) begin_node(node);
    if (pass_ != pass::plan || next_ != count_) return;
    pass_ = pass::planned;
    next_ = 0;
  }

 private:
  /// The first question about each node; when all were asked; the second one.
  enum class pass : unsigned char { plan, planned, launch };

  /// Nodes that are fused with the one before them, or idle, are not asked about.
  static constexpr int most_skipped = 64;

  static bool is_idle(ggml_tensor const* node) {
    switch (node->op) {
      case GGML_OP_NONE:
      case GGML_OP_RESHAPE:
      case GGML_OP_VIEW:
      case GGML_OP_PERMUTE:
      case GGML_OP_TRANSPOSE:
        return true;
      default:
        return false;
    }
  }

  /// Whether the node comes next: an operation may ask about its sources, which came before.
  bool advance(ggml_tensor const* node) {
    for (int i = next_; i < count_ && i < next_ + most_skipped; ++i) {
      if (nodes_[i] != node) continue;
      next_ = i + 1;
      return true;
    }
    return false;
  }

  void begin_node(ggml_tensor const* node) {
    strata::detail::ggml_label const label =
        strata::detail::ggml_label::of(strata::detail::ggml_name(node));
    auto const place = strata::detail::ggml_place::of(node, label, place_);
    operation_.end();
    if (place_.role.empty() || place != place_) part_.next(place.role, place.layer);
    place_ = place;
    strata::detail::ggml_work work;
    work.add(node);
    operation_.next(strata::detail::ggml_operation(node, label).name(), work);
  }

  ggml_backend_t backend_ = nullptr;
  ggml_tensor** nodes_ = nullptr;  // null: no graph, or nobody listens
  int count_ = 0;                  // to the last that works
  int next_ = 0;                   // where the next node is searched
  pass pass_ = pass::plan;
  asking asks_ = asking::unknown;
  strata::detail::ggml_place place_;
  strata::phases part_;
  strata::phases operation_;
};

/// What a graph computes.
struct graph_work {
  std::int64_t tokens = 1;
  bool decodes = true;  // each token has an output: one of each sequence

  /// Source: the rows that llama.cpp takes from the table of tokens first, and those of the last
  /// node, which is the output.
  static graph_work of(ggml_cgraph* graph) {
    constexpr std::int64_t most_sequences = 256;  // llama.cpp's own limit
    ggml_tensor* const* const nodes = ggml_graph_nodes(graph);
    int const count = ggml_graph_n_nodes(graph);
    graph_work found;
    for (int i = 0; i < count; ++i) {
      if (nodes[i]->op != GGML_OP_GET_ROWS) continue;
      found.tokens = nodes[i]->ne[1];
      found.decodes = found.tokens <= most_sequences && nodes[count - 1]->ne[1] == found.tokens;
      break;
    }
    return found;
  }
};

}  // namespace

// What ggml and its backends call.

bool ggml_is_empty(ggml_tensor const* tensor) {
  computed_graph::of_this_thread().ask(tensor);
  for (std::int64_t const size : tensor->ne)
    if (size == 0) return true;
  return false;
}

ggml_status ggml_backend_graph_compute_async(ggml_backend_t backend, ggml_cgraph* graph) {
  static auto* const behind =
      function_behind(&ggml_backend_graph_compute_async, "ggml_backend_graph_compute_async");
  computed_graph& computed = computed_graph::of_this_thread();
  computed.begin(backend, graph);
  ggml_status const outcome = behind(backend, graph);
  computed.end();
  return outcome;
}

ggml_status ggml_backend_sched_graph_compute_async(ggml_backend_sched_t scheduler,
                                                   ggml_cgraph* graph) {
  static auto* const behind = function_behind(&ggml_backend_sched_graph_compute_async,
                                              "ggml_backend_sched_graph_compute_async");
  if (strata::detail::active_listener() == nullptr) return behind(scheduler, graph);
  graph_work const work = graph_work::of(graph);
  strata::detail::c_step_end();
  if (work.decodes) strata::detail::c_step_begin();
  strata::scoped_range const range(work.decodes ? "decode" : "prefill",
                                   strata::tokens(work.tokens));
  return behind(scheduler, graph);
}

// What the ranges ask ggml for: this library is loaded before it, and into other programs too.

std::int64_t ggml_nelements(ggml_tensor const* tensor) {
  static auto* const behind = function_behind(&ggml_nelements, "ggml_nelements");
  return behind(tensor);
}
std::int64_t ggml_nrows(ggml_tensor const* tensor) {
  static auto* const behind = function_behind(&ggml_nrows, "ggml_nrows");
  return behind(tensor);
}
std::size_t ggml_nbytes(ggml_tensor const* tensor) {
  static auto* const behind = function_behind(&ggml_nbytes, "ggml_nbytes");
  return behind(tensor);
}
std::int64_t ggml_blck_size(ggml_type type) {
  static auto* const behind = function_behind(&ggml_blck_size, "ggml_blck_size");
  return behind(type);
}
std::size_t ggml_type_size(ggml_type type) {
  static auto* const behind = function_behind(&ggml_type_size, "ggml_type_size");
  return behind(type);
}
char const* ggml_op_desc(ggml_tensor const* tensor) {
  static auto* const behind = function_behind(&ggml_op_desc, "ggml_op_desc");
  return behind(tensor);
}
bool ggml_backend_buffer_is_host(ggml_backend_buffer_t buffer) {
  static auto* const behind =
      function_behind(&ggml_backend_buffer_is_host, "ggml_backend_buffer_is_host");
  return behind(buffer);
}
ggml_backend_buffer_type_t ggml_backend_buffer_get_type(ggml_backend_buffer_t buffer) {
  static auto* const behind =
      function_behind(&ggml_backend_buffer_get_type, "ggml_backend_buffer_get_type");
  return behind(buffer);
}
ggml_tensor** ggml_graph_nodes(ggml_cgraph* graph) {
  static auto* const behind = function_behind(&ggml_graph_nodes, "ggml_graph_nodes");
  return behind(graph);
}
int ggml_graph_n_nodes(ggml_cgraph* graph) {
  static auto* const behind = function_behind(&ggml_graph_n_nodes, "ggml_graph_n_nodes");
  return behind(graph);
}
