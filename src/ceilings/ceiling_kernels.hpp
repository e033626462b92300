#include <strata/version.hpp>
#ifndef STRATA_CEILINGS_CEILING_KERNELS_HPP
#define STRATA_CEILINGS_CEILING_KERNELS_HPP

// The kernels of src/ceilings/ceilings.hpp, as PTX text that the driver compiles. Each is the entry
// `strata_ceiling` of a module of its own, with the same parameters: a buffer `data`, results
// `out`, and how far the loop goes. Thread 0 of block 0 leaves its SM cycles in out[0] and its
// nanoseconds in out[1]. What is computed goes into `out` where it has a value that it hardly ever
// has: nothing can be left out.

#include <strata/base/macros.hpp>
#include <strata/base/text.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

STRATA_BEGIN
namespace detail {

/// A format of the tensor cores as `mma` and `wgmma` name it. A step of k is 32 bytes for wgmma.
struct tensor_kind {
  std::string_view roof;
  std::string_view type;       ///< of both operands
  std::string_view result;     ///< "f32" or "s32"
  std::string_view mma_shape;  ///< m16n8kK; k below
  std::uint32_t mma_k;
  std::uint32_t wgmma_k;
  std::uint32_t capability;  ///< 10 * major + minor, the first whose mma has it
  std::uint32_t isa;         ///< PTX version of that mma, 10 * major + minor
  std::uint32_t keep;        ///< bits of an operand that are random
  std::uint32_t fixed;       ///< bits that are set: numbers of both signs between 1/8 and 2
};
inline constexpr tensor_kind tensor_kinds[] = {
    {"TF32 tensor", "tf32", "f32", "m16n8k8", 8, 8, 80, 70, 0x81ffffff, 0x3e000000},
    {"BF16 tensor", "bf16", "f32", "m16n8k16", 16, 16, 80, 70, 0x81ff81ff, 0x3e003e00},
    {"FP16 tensor", "f16", "f32", "m16n8k16", 16, 16, 80, 70, 0x8fff8fff, 0x30003000},
    {"FP8 tensor", "e4m3", "f32", "m16n8k32", 32, 32, 89, 84, 0x9f9f9f9f, 0x20202020},
    {"INT8 tensor", "s8", "s32", "m16n8k32", 32, 32, 80, 70, 0xffffffff, 0}};

/// Whether libraries reach tensor rates of a device by instructions that no kernel here has:
/// tcgen05, of compute capability 10.x (B200, B300) and 11.0 (Thor). mma.sync stays far below them;
/// 12.x has no tcgen05.
constexpr bool has_newer_tensor_cores(std::uint32_t capability) noexcept {
  return capability >= 100 && capability < 120;
}

/// Writes one module.
class ceiling_kernel {
 public:
  static constexpr char const* entry = "strata_ceiling";
  static constexpr std::uint32_t threads = 256;  ///< of a block
  static constexpr std::uint32_t row =
      16 * threads;  ///< bytes that a block loads with one instruction
  static constexpr std::uint32_t fma_round = 256;  ///< FMA instructions of a thread in a round
  static constexpr std::uint32_t mma_round = 32;   ///< mma instructions of a warp in a round
  static constexpr std::uint32_t stages = 4;       ///< of operands in shared memory, for wgmma
  static constexpr std::uint32_t wgmma_round = 4;  ///< of a warpgroup in a round: rows of 128 bytes
  static constexpr std::uint32_t a_bytes = 16 * 1024;  ///< of a stage: 128 rows of 128 bytes
  static constexpr std::uint32_t b_bytes = 32 * 1024;  ///< 256 rows
  static constexpr std::uint32_t wgmma_shared = stages * (a_bytes + b_bytes);

  /// Loads of 16 bytes: `level` is "cg" for L2 and what is below it, "ca" for L1, "shared".
  static std::string read(std::string_view level, std::uint32_t loads) {
    bool const shared = level == "shared";
    std::string const from = shared ? "shared" : "global." + std::string(level);
    ceiling_kernel made(70, "sm_70");
    if (shared) made.put(".shared .align 16 .b8 tile[" + number(2 * loads * row) + "];");
    made.declare_memory(loads);
    if (shared) {
      made.put("mov.u32 %small, tile;", "cvt.u64.u32 %data, %small;");
      made.fill_shared(2 * loads * row, 0xffffffff, 0);
    }
    made.begin_loop();
    made.next_address();
    if (shared) made.put("cvt.u32.u64 %small, %at;");
    std::string const address = shared ? "%small" : "%at";
    for (std::uint32_t i = 0; i < loads; ++i)
      made.put("ld." + from + ".v4.u32 " + words(4 * i) + ", [" + address + "+" + number(i * row) +
               "];");
    for (std::uint32_t i = 0; i < 4 * loads; i += 2)
      made.put("lop3.b32 %sum, %sum, %w" + number(i) + ", %w" + number(i + 1) + ", 0x96;");
    return made.end();
  }

  /// Stores of 16 bytes, after loads at the same place `distance` bytes before where it copies.
  static std::string write(bool copy, std::uint32_t stores) {
    ceiling_kernel made(70, "sm_70");
    made.declare_memory(stores);
    for (std::uint32_t i = 0; i < 4 * stores; ++i)
      made.put("mad.lo.u32 %w" + number(i) + ", %seed, 0x9e3779b1, " + number(i * 0x85ebca6bu) +
               ";");
    made.begin_loop();
    made.next_address();
    for (std::uint32_t i = 0; copy && i < stores; ++i)
      made.put("ld.global.cg.v4.u32 " + words(4 * i) + ", [%at+" + number(i * row) + "];");
    if (copy) made.put("add.u64 %at, %at, %distance;");
    for (std::uint32_t i = 0; i < stores; ++i)
      made.put("st.global.v4.u32 [%at+" + number(i * row) + "], " + words(4 * i) + ";");
    return made.end();
  }

  /// Turns pairs (x, y) by a small angle for ever: no number converges. `type`: "f32", "f64",
  /// "f16x2".
  static std::string fma(std::string_view type) {
    constexpr std::uint32_t pairs = 4;
    ceiling_kernel made(70, "sm_70");
    std::string const kind(type);
    std::string const storage = kind == "f16x2" ? "b32" : kind;
    made.put(".reg ." + storage + " %x<4>, %y<4>, %e, %minus;");
    if (kind == "f16x2") made.put("mov.b32 %e, 0x2e662e66;", "mov.b32 %minus, 0xae66ae66;");
    if (kind == "f32") made.put("mov.f32 %e, 0f3dcccccd;", "mov.f32 %minus, 0fbdcccccd;");
    if (kind == "f64")
      made.put("mov.f64 %e, 0d3fb999999999999a;", "mov.f64 %minus, 0dbfb999999999999a;");
    for (std::uint32_t i = 0; i < 2 * pairs; ++i) {
      std::string const coordinate = (i < pairs ? "%x" : "%y") + number(i % pairs);
      bool const half = kind == "f16x2";
      made.random(half ? 0x83ff83ff : 0x807fffff, half ? 0x34003400 : 0x3e800000);
      if (half) made.put("mov.b32 " + coordinate + ", %word;");
      if (kind == "f32") made.put("mov.b32 " + coordinate + ", %word;");
      if (kind == "f64")
        made.put("mov.b32 %number, %word;", "cvt.f64.f32 " + coordinate + ", %number;");
    }
    made.begin_loop();
    for (std::uint32_t i = 0; i < fma_round; ++i) {
      std::string const x = "%x" + number(i % pairs);
      std::string const y = "%y" + number(i % pairs);
      bool const even = i / pairs % 2 == 0;
      made.put("fma.rn." + kind + " " + (even ? x + ", %e, " + y : y + ", %minus, " + x) + ", " +
               (even ? x : y) + ";");
    }
    made.close_loop();
    for (std::uint32_t i = 0; i < 2 * pairs; ++i) {
      std::string const from = (i < pairs ? "%x" : "%y") + number(i % pairs);
      if (kind == "f64")
        made.put("cvt.rn.f32.f64 %number, " + from + ";", "mov.b32 %word, %number;");
      else
        made.put("mov.b32 %word, " + from + ";");
      made.put("xor.b32 %sum, %sum, %word;");
    }
    return made.end();
  }

  /// Tensor cores by `mma`: eight tiles of sums a warp, operands in registers.
  static std::string mma(tensor_kind const& kind) {
    constexpr std::uint32_t tiles = 8;
    ceiling_kernel made(kind.isa, kind.capability >= 89 ? "sm_89" : "sm_80");
    std::string const result(kind.result);
    std::string const type(kind.type);
    made.put(".reg .b32 %a<16>, %b<8>;", ".reg ." + result + " %c<32>;");
    for (std::uint32_t i = 0; i < 24; ++i) {
      made.random(kind.keep, kind.fixed);
      made.put("mov.b32 " + ((i < 16 ? "%a" : "%b") + number(i < 16 ? i : i - 16)) + ", %word;");
    }
    made.clear("%c", 4 * tiles, result);
    made.begin_loop();
    for (std::uint32_t i = 0; i < mma_round; ++i) {
      std::string const sums = list("%c", i % tiles * 4, 4);
      made.put("mma.sync.aligned." + std::string(kind.mma_shape) + ".row.col." + result + "." +
               type + "." + type + "." + result + " " + sums + ", " + list("%a", i / 2 % 4 * 4, 4) +
               ", " + list("%b", i % 4 * 2, 2) + ", " + sums + ";");
    }
    made.close_loop();
    made.add_up("%c", 4 * tiles);
    return made.end();
  }

  /// FP64 tensor cores: m16n8k16 where there is one (9.0), else m8n8k4.
  static std::string mma_f64(bool large) {
    constexpr std::uint32_t tiles = 8;
    std::uint32_t const as = large ? 8 : 1;
    std::uint32_t const bs = large ? 4 : 1;
    std::uint32_t const cs = large ? 4 : 2;
    ceiling_kernel made(large ? 78 : 70, large ? "sm_90" : "sm_80");
    made.put(".reg .f64 %a<16>, %b<8>, %c<32>;", ".reg .b32 %low;");
    for (std::uint32_t i = 0; i < 2 * (as + bs); ++i) {
      made.random(0xffffffff, 0);
      made.put("mov.b32 %low, %word;");
      made.random(0x803fffff, 0x3fc00000);
      std::string const operand = i < 2 * as ? "%a" + number(i) : "%b" + number(i - 2 * as);
      made.put("mov.b64 " + operand + ", {%low, %word};");
    }
    made.clear("%c", cs * tiles, "f64");
    made.begin_loop();
    for (std::uint32_t i = 0; i < mma_round; ++i) {
      std::string const sums = list("%c", i % tiles * cs, cs);
      made.put("mma.sync.aligned." + std::string(large ? "m16n8k16" : "m8n8k4") +
               ".row.col.f64.f64.f64.f64 " + sums + ", " + list("%a", i / 2 % 2 * as, as) + ", " +
               list("%b", i % 2 * bs, bs) + ", " + sums + ";");
    }
    made.close_loop();
    for (std::uint32_t i = 0; i < cs * tiles; ++i)
      made.put("cvt.rn.f32.f64 %number, %c" + number(i) + ";", "mov.b32 %word, %number;",
               "xor.b32 %sum, %sum, %word;");
    return made.end();
  }

  /// Hopper's tensor cores: two warpgroups multiply 128 x 256 from shared memory, as libraries do.
  static std::string wgmma(tensor_kind const& kind) {
    constexpr std::uint32_t sums = 128;  // of a thread, in 64 x 256 of a warpgroup
    ceiling_kernel made(80, "sm_90a", ".extern .shared .align 1024 .b8 tile[];");
    std::string const result(kind.result);
    std::string const type(kind.type);
    bool const halves = type == "bf16" || type == "f16";
    made.put(".reg ." + result + " %c<128>;", ".reg .b64 %a, %b, %da, %db;",
             ".reg .b32 %base, %part;", ".reg .pred %add;", "setp.eq.u32 %add, 0, 0;",
             "mov.u32 %base, tile;", "cvt.u64.u32 %data, %base;");
    made.fill_shared(wgmma_shared, kind.keep, kind.fixed);
    made.put("fence.proxy.async;", "bar.sync 0;");
    // A descriptor: address / 16, 1024 bytes from eight rows to the next eight, rows of 128 bytes
    // that are swizzled.
    made.put("shr.u32 %part, %thread, 7;", "shfl.sync.idx.b32 %part, %part, 0, 31, 0xffffffff;",
             "mad.lo.u32 %part, %part, " + number(a_bytes / 2) + ", %base;",
             "shr.u32 %part, %part, 4;", "cvt.u64.u32 %a, %part;",
             "or.b64 %a, %a, 0x4000004000010000;", "shr.u32 %part, %base, 4;",
             "cvt.u64.u32 %b, %part;", "or.b64 %b, %b, 0x4000004000010000;",
             "add.u64 %b, %b, " + number(stages * a_bytes / 16) + ";");
    made.clear("%c", sums, result);
    made.begin_loop();
    // One stage a round, as a library's loop: the driver takes 0.2 s to compile all four.
    made.put("wgmma.fence.sync.aligned;", "and.b32 %part, %left, " + number(stages - 1) + ";",
             "mul.wide.u32 %da, %part, " + number(a_bytes / 16) + ";", "add.u64 %da, %da, %a;",
             "mul.wide.u32 %db, %part, " + number(b_bytes / 16) + ";", "add.u64 %db, %db, %b;");
    for (std::uint32_t i = 0; i < wgmma_round; ++i) {
      if (i > 0) made.put("add.u64 %da, %da, 2;", "add.u64 %db, %db, 2;");
      made.put("wgmma.mma_async.sync.aligned.m64n256k" + number(kind.wgmma_k) + "." + result + "." +
               type + "." + type + " " + list("%c", 0, sums) + ", %da, %db, %add" +
               (result == "s32" ? ";"
                : halves        ? ", 1, 1, 0, 0;"
                                : ", 1, 1;"));
    }
    made.put("wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 0;");
    made.close_loop();
    made.add_up("%c", 1);  // an instruction makes them all
    return made.end();
  }

 private:
  ceiling_kernel(std::uint32_t isa, std::string_view target, std::string_view outside = "") {
    put(".version " + number(isa / 10) + "." + number(isa % 10), ".target " + std::string(target),
        ".address_size 64");
    if (!outside.empty()) put(outside);
    put(".visible .entry " + std::string(entry) +
            "(.param .u64 data, .param .u64 out, .param .u64 mask, .param .u64 "
            "step,",
        ".param .u64 start, .param .u64 distance, .param .u32 rounds)", ".maxntid 256, 1, 1", "{",
        ".reg .pred %p, %again;", ".reg .f32 %number;",
        ".reg .b32 %thread, %block, %left, %seed, %word, %sum, %small;",
        ".reg .b64 %data, %out, %cycles, %ns, %then, %later, %wait;", "mov.u32 %thread, %tid.x;",
        "mov.u32 %block, %ctaid.x;", "ld.param.u64 %data, [data];", "ld.param.u64 %out, [out];",
        "ld.param.u32 %left, [rounds];", "mad.lo.u32 %seed, %block, 256, %thread;",
        "mad.lo.u32 %seed, %seed, 0x9e3779b1, 0x7f4a7c15;", "mov.u32 %sum, %seed;");
  }

  static std::string number(std::uint32_t value) { return sentence() << value; }

  /// "{%c4, %c5, ...}".
  static std::string list(std::string_view name, std::uint32_t first, std::uint32_t count) {
    std::string made = "{";
    for (std::uint32_t i = 0; i < count; ++i)
      made += (i > 0 ? ", " : "") + (std::string(name) + number(first + i));
    return made + "}";
  }
  static std::string words(std::uint32_t first) { return list("%w", first, 4); }

  template <class... Lines>
  void put(Lines const&... lines) {
    (put_line(lines), ...);
  }
  void put_line(std::string_view line) {
    text_ += line;
    text_ += '\n';
  }

  void declare_memory(std::uint32_t loads) {
    put(".reg .b32 %w<" + number(4 * loads) + ">;",
        ".reg .b64 %mask, %step, %start, %at, %distance, %wide;", "ld.param.u64 %mask, [mask];",
        "ld.param.u64 %step, [step];", "ld.param.u64 %start, [start];",
        "ld.param.u64 %distance, [distance];", "cvt.u64.u32 %wide, %block;",
        "mad.lo.u64 %data, %wide, %start, %data;", "mul.wide.u32 %start, %thread, 16;");
  }

  /// %at: where this round reads. The next round reads %step bytes further, and begins again at the
  /// end of what the block reads.
  void next_address() {
    put("and.b64 %at, %start, %mask;", "add.u64 %start, %start, %step;",
        "add.u64 %at, %at, %data;");
  }

  /// A pseudo-random %word of a linear generator's high bits.
  void random(std::uint32_t keep, std::uint32_t fixed) {
    put("mad.lo.u32 %seed, %seed, 1664525, 1013904223;", "shr.u32 %word, %seed, 15;",
        "xor.b32 %word, %word, %seed;", "and.b32 %word, %word, " + number(keep) + ";",
        "or.b32 %word, %word, " + number(fixed) + ";");
  }

  void fill_shared(std::uint32_t bytes, std::uint32_t keep, std::uint32_t fixed) {
    put(".reg .b32 %place, %limit;", "cvt.u32.u64 %limit, %data;",
        "mad.lo.u32 %place, %thread, 4, %limit;", "add.u32 %limit, %limit, " + number(bytes) + ";",
        "fill:");
    random(keep, fixed);
    put("st.shared.u32 [%place], %word;", "add.u32 %place, %place, " + number(4 * threads) + ";",
        "setp.lt.u32 %p, %place, %limit;", "@%p bra fill;", "bar.sync 0;");
  }

  void clear(std::string_view name, std::uint32_t count, std::string_view type) {
    std::string const zero = type == "f32"   ? "0f00000000"
                             : type == "f64" ? "0d0000000000000000"
                                             : "0";
    for (std::uint32_t i = 0; i < count; ++i)
      put("mov." + std::string(type) + " " + std::string(name) + number(i) + ", " + zero + ";");
  }

  void add_up(std::string_view name, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i)
      put("mov.b32 %word, " + std::string(name) + number(i) + ";", "xor.b32 %sum, %sum, %word;");
  }

  void begin_loop() {
    read_clocks("begin", "%cycles", "%ns");
    put("loop:", ".pragma \"nounroll\";");
  }
  /// Reads both clocks, and reads them again where the warp waited more than 500 cycles meanwhile.
  void read_clocks(std::string const& label, std::string const& cycles, std::string const& ns) {
    put(label + ":", "mov.u64 " + cycles + ", %clock64;", "mov.u64 " + ns + ", %globaltimer;",
        "mov.u64 %wait, %clock64;", "sub.u64 %wait, %wait, " + cycles + ";",
        "setp.gt.u64 %p, %wait, 500;", "@%p bra " + label + ";");
  }
  void close_loop() {
    if (closed_) return;
    closed_ = true;
    put("sub.u32 %left, %left, 1;", "setp.ne.u32 %again, %left, 0;", "@%again bra loop;");
  }

  std::string end() {
    close_loop();
    read_clocks("end", "%later", "%then");
    put("setp.eq.u32 %p, %sum, 0x5eed1e55;", "@%p st.global.u32 [%out+16], %sum;",
        "sub.u64 %cycles, %later, %cycles;", "sub.u64 %ns, %then, %ns;",
        "or.b32 %thread, %thread, %block;", "setp.eq.u32 %p, %thread, 0;",
        "@%p st.global.u64 [%out], %cycles;", "@%p st.global.u64 [%out+8], %ns;", "ret;", "}");
    return std::move(text_);
  }

  std::string text_;
  bool closed_ = false;
};

}  // namespace detail
STRATA_END

#endif  // STRATA_CEILINGS_CEILING_KERNELS_HPP
