#ifndef STRATA_COLLECT_CPU_PERF_EVENTS_HPP
#define STRATA_COLLECT_CPU_PERF_EVENTS_HPP

#include <strata/base/clock.hpp>
#include <strata/base/guest.hpp>
#include <strata/profile/metric_rates.hpp>

#include <climits>

#include <dirent.h>

STRATA_BEGIN
namespace detail {

/// The first version of the kernel's perf_event_attr, which every later kernel takes.
struct perf_attributes {
  std::uint32_t type = 0;
  std::uint32_t size = 64;
  std::uint64_t config = 0;
  std::uint64_t sample_period = 0;
  std::uint64_t sample_type = 0;
  std::uint64_t read_format = 0;
  std::uint64_t flags = 0;
  std::uint32_t wakeup_events = 0;
  std::uint32_t breakpoint_type = 0;
  std::uint64_t config1 = 0;

  // Bits of read_format: what a read gives. A group: how many, both times, the values.
  static constexpr std::uint64_t total_time_enabled = 1;
  static constexpr std::uint64_t total_time_running = 2;
  static constexpr std::uint64_t group = 8;
  // Bits of flags.
  static constexpr std::uint64_t disabled = 1u << 0;
  static constexpr std::uint64_t inherit = 1u << 1;
  static constexpr std::uint64_t exclude_kernel = 1u << 5;
  static constexpr std::uint64_t exclude_hypervisor = 1u << 6;
  static constexpr std::uint64_t inherit_thread = std::uint64_t{1} << 35;  ///< Linux 5.13
};
static_assert(sizeof(perf_attributes) == 64, "the kernel reads this");

/// The calls into the kernel that counting needs. What fails gives a negative error number.
struct perf_system {
  static constexpr int no_paranoid = INT_MIN;

  /// A descriptor that counts a thread (0: the calling one); `leader` is -1 or a group's.
  int (*open)(perf_attributes const& what, int thread, int leader) noexcept;
  int (*enable)(int leader) noexcept;
  long (*read)(int leader, void* out, std::size_t size) noexcept;
  void (*close)(int descriptor) noexcept;
  /// The kernel's number of the event behind a descriptor; 0 where it is another file, or none.
  std::uint64_t (*number)(int descriptor) noexcept;
  /// kernel.perf_event_paranoid, or no_paranoid.
  int (*paranoid)() noexcept;
  /// The other threads of the process.
  vec<int> (*threads)();

  /// Those of this machine.
  static perf_system const& real() noexcept;
};

struct linux_perf {
  static int open(perf_attributes const& what, int thread, int leader) noexcept {
    constexpr unsigned long close_on_exec = 8;
    long const made = syscall(SYS_perf_event_open, &what, thread, -1, leader, close_on_exec);
    int const raised = raise_descriptor(static_cast<int>(made));
    return raised < 0 ? -errno : raised;
  }
  static int enable(int leader) noexcept {
    constexpr unsigned long enable_request = 0x2400;
    return syscall(SYS_ioctl, leader, enable_request, 0) < 0 ? -errno : 0;
  }
  static long read(int leader, void* out, std::size_t size) noexcept {
    long const got = ::read(leader, out, size);
    return got < 0 ? -errno : got;
  }
  static void close(int descriptor) noexcept { (void)::close(descriptor); }
  static std::uint64_t number(int descriptor) noexcept {
    constexpr unsigned long id_request = 0x80082407;  // other files refuse it
    std::uint64_t found = 0;
    return syscall(SYS_ioctl, descriptor, id_request, &found) < 0 ? 0 : found;
  }
  STRATA_DETAIL_COLD_CODE
  static int paranoid() noexcept {
    std::FILE* const file = std::fopen("/proc/sys/kernel/perf_event_paranoid", "re");
    if (file == nullptr) return perf_system::no_paranoid;
    int level = perf_system::no_paranoid;
    if (std::fscanf(file, "%d", &level) != 1) level = perf_system::no_paranoid;
    std::fclose(file);
    return level;
  }
  static vec<int> threads() {
    vec<int> others;
    DIR* const tasks = opendir("/proc/self/task");
    if (tasks == nullptr) return others;
    long const own = syscall(SYS_gettid);
    while (dirent const* const task = readdir(tasks)) {
      int const thread = std::atoi(task->d_name);
      if (thread > 0 && thread != own) others.push_back(thread);
    }
    closedir(tasks);
    return others;
  }
  STRATA_DETAIL_END_CODE
};

inline perf_system const& perf_system::real() noexcept {
  static constexpr perf_system calls{
      &linux_perf::open,   &linux_perf::enable,   &linux_perf::read,   &linux_perf::close,
      &linux_perf::number, &linux_perf::paranoid, &linux_perf::threads};
  return calls;
}

/// Events of one thread that the kernel counts at the same time, and one read gives. Its owner
/// closes it. A program that closes all its descriptors may get their numbers for files of its own:
/// these are neither read nor closed.
class perf_group {
 public:
  static constexpr std::size_t most = 8;

  /// 0: the calling thread.
  explicit perf_group(int thread = 0) noexcept : thread_(thread) {}

  /// Which threads count besides the group's own.
  enum class reach : std::uint8_t {
    threads,    ///< those that it makes from then on, and theirs
    processes,  ///< its child processes too: kernels before 5.13 do not tell them apart
    alone       ///< none: kernels before 4.13 cannot read a group of several threads
  };

  struct reading {
    std::uint64_t enabled_ns = 0;  ///< how long the events were wanted
    std::uint64_t running_ns = 0;  ///< how long they were on the hardware
    std::uint64_t values[most] = {};
  };

  STRATA_DETAIL_COLD_CODE
  /// Adds an event. Where the kernel does not know `who`, a new group takes less, and tells so by
  /// it. Returns: 0 or an error number.
  int add(perf_system const& system, perf_event const& event, reach& who) noexcept {
    if (size_ == most) return EINVAL;
    for (reach less = who;;) {
      int const made =
          system.open(attributes(event, less), thread_, size_ == 0 ? -1 : descriptors_[0]);
      if (made >= 0) {
        numbers_[size_] = system.number(made);
        descriptors_[size_++] = made;
        who = less;
        return 0;
      }
      bool const unknown = made == -EINVAL || made == -E2BIG;
      if (!unknown || size_ != 0 || less == reach::alone) return -made;
      less = less == reach::threads ? reach::processes : reach::alone;
    }
  }

  /// Counts from now on. The leader is off until all events are there: one that joins a running
  /// group of other kinds does not count before the thread's next turn (Linux 6.18).
  int enable(perf_system const& system) noexcept { return -system.enable(descriptors_[0]); }

  STRATA_DETAIL_END_CODE

  /// Whether the program has closed it.
  bool is_gone() const noexcept { return gone_; }

  bool read(perf_system const& system, reading& result) noexcept {
    gone_ = gone_ || !is_ours(system, 0);
    if (gone_) return false;
    std::uint64_t words[3 + most];
    std::size_t const bytes = (3 + size_) * sizeof words[0];
    long got = system.read(descriptors_[0], words, bytes);
    // A thread that ends gives its events back one by one, and meanwhile there is no sum.
    for (int i = 0; got == -ECHILD && i < max_waits; ++i) {
      yield_thread();
      got = system.read(descriptors_[0], words, bytes);
    }
    if (got != static_cast<long>(bytes) || words[0] != size_) return false;
    result.enabled_ns = words[1];
    result.running_ns = words[2];
    for (std::size_t i = 0; i < size_; ++i) result.values[i] = words[3 + i];
    return true;
  }

  void close(perf_system const& system) noexcept {
    while (size_ != 0)
      if (is_ours(system, --size_)) system.close(descriptors_[size_]);
  }

  std::size_t size() const noexcept { return size_; }

 private:
  static constexpr int max_waits = 1000;

  bool is_ours(perf_system const& system, std::size_t which) const noexcept {
    return system.number(descriptors_[which]) == numbers_[which];
  }

  STRATA_DETAIL_COLD_CODE
  perf_attributes attributes(perf_event const& event, reach who) const noexcept {
    using bits = perf_attributes;
    perf_attributes made;
    made.type = event.type;
    made.config = event.config;
    made.read_format = bits::group | bits::total_time_enabled | bits::total_time_running;
    if (!event.in_kernel) made.flags |= bits::exclude_kernel | bits::exclude_hypervisor;
    if (size_ == 0) made.flags |= bits::disabled;
    if (who != reach::alone) made.flags |= bits::inherit;
    if (who == reach::threads) made.flags |= bits::inherit_thread;
    return made;
  }
  STRATA_DETAIL_END_CODE

  int thread_;
  int descriptors_[most] = {};
  std::uint64_t numbers_[most] = {};  // of the events
  bool gone_ = false;
  std::size_t size_ = 0;
};

/// Reads the groups of a thread whenever its range changes, and adds what was counted to the range
/// that it leaves; those of other threads at the ends of steps. Threads: any; the one that is
/// counted calls `change`.
class perf_meter : uncopied {
 public:
  /// Of one range: how often it was read, then of each group the times and the values.
  using slot = std::uint64_t;

  explicit perf_meter(perf_system const& system) noexcept : system_(&system) {}
  ~perf_meter() {
    close();
    std::free(sums_);
  }

  /// Adds the groups of a thread, first those of the counted one.
  void take(vec<perf_group> const& groups) {
    spin_lock const lock(mutex_);
    std::size_t index = 1;
    for (perf_group const& group : groups) {
      groups_.push_back({group, {}, index});
      index += 2 + group.size();
    }
    slots_ = index;
    if (own_ == 0) own_ = groups_.size();
  }

  void begin(std::uint32_t node) noexcept {
    spin_lock const lock(mutex_);
    node_ = node;
    on_ = true;
    known_ = others_known_ = false;
    read(groups_.begin(), own_end(), known_, false);
    read(own_end(), groups_.end(), others_known_, false);
  }

  /// `counts`: whether what the thread did in the former range is wanted.
  void change(std::uint32_t node, bool counts) noexcept {
    spin_lock const lock(mutex_);
    if (!on_) return;
    read(groups_.begin(), own_end(), known_, counts);
    node_ = node;
  }

  /// What the other threads did since the last time goes to the range that the counted one is in.
  void add_others() noexcept {
    spin_lock const lock(mutex_);
    if (on_) read(own_end(), groups_.end(), others_known_, true);
  }

  void end() noexcept {
    spin_lock const lock(mutex_);
    if (!on_) return;
    read(groups_.begin(), own_end(), known_, true);
    read(own_end(), groups_.end(), others_known_, true);
    on_ = false;
  }

  /// Gives the counters back; the sums stay.
  void close() noexcept {
    spin_lock const lock(mutex_);
    on_ = false;
    for (part& counted : groups_) counted.group.close(*system_);
  }

  /// Hands the sums of each range that was read to `sink(node, slots)`.
  template <class Sink>
  void for_each_node(Sink sink) const {
    for (std::size_t node = 0; node < nodes_; ++node) {
      slot const* const slots = sums_ + node * slots_;
      if (slots[0] != 0) sink(static_cast<std::uint32_t>(node), slots);
    }
  }

  /// Whether the program has closed the descriptors of counters.
  bool is_gone() const noexcept {
    for (part const& counted : groups_)
      if (counted.group.is_gone()) return true;
    return false;
  }
  std::uint64_t reads() const noexcept { return reads_; }
  std::uint64_t failures() const noexcept { return failures_; }
  std::int64_t spent_ns() const noexcept { return spent_ns_; }

 private:
  struct part {
    perf_group group;
    perf_group::reading last;
    std::size_t first_slot;  ///< its index in the sums of a node
  };

  part* own_end() noexcept { return groups_.begin() + own_; }

  /// What some groups counted since their last reading goes to the current node, unless that
  /// reading failed (`known`): then it belongs to several ranges, and to none of them.
  void read(part* first, part* last, bool& known, bool add) noexcept {
    if (first == last) return;
    std::int64_t const begin = monotonic_ns();
    slot* const sums = add && known ? sums_of(node_) : nullptr;
    if (sums != nullptr) ++sums[0];
    known = true;
    for (part* counted = first; known && counted != last; ++counted) {
      perf_group::reading now;
      known = counted->group.read(*system_, now);
      if (known && sums != nullptr) {
        slot* sum = sums + counted->first_slot;
        *sum++ += now.enabled_ns - counted->last.enabled_ns;
        *sum++ += now.running_ns - counted->last.running_ns;
        for (std::size_t i = 0; i < counted->group.size(); ++i)
          *sum++ += now.values[i] - counted->last.values[i];
      }
      counted->last = now;
    }
    failures_ += !known;
    ++reads_;
    spent_ns_ += monotonic_ns() - begin;
  }

  slot* sums_of(std::uint32_t node) noexcept {
    if (node >= nodes_) {
      std::size_t const wanted = node + std::size_t{1} > 2 * nodes_ ? node + 64 : 2 * nodes_;
      auto* const grown = static_cast<slot*>(std::realloc(sums_, wanted * slots_ * sizeof(slot)));
      if (grown == nullptr) {
        ++failures_;
        return nullptr;
      }
      std::memset(grown + nodes_ * slots_, 0, (wanted - nodes_) * slots_ * sizeof(slot));
      sums_ = grown;
      nodes_ = wanted;
    }
    return sums_ + node * slots_;
  }

  perf_system const* system_;
  spin_mutex mutex_;
  vec<part> groups_;
  slot* sums_ = nullptr;
  std::size_t slots_ = 0;  ///< of a node
  std::size_t nodes_ = 0;
  std::uint32_t node_ = 0;
  std::size_t own_ = 0;  ///< groups of the counted thread, the first ones
  bool on_ = false;
  bool known_ = false;         ///< the last reading is that of the moment when node_ was entered
  bool others_known_ = false;  ///< the last reading of the others succeeded
  std::uint64_t reads_ = 0;
  std::uint64_t failures_ = 0;
  std::int64_t spent_ns_ = 0;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_COLLECT_CPU_PERF_EVENTS_HPP
