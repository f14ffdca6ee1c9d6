// Populations that cross a border arrive in separate memory, which is small: GPUs share pieces of a
// few hundred MiB, not lattices. A put never overwrites anything in use: with two lattices such
// memory alternates as they do, and in place no device sends before its neighbour has read. With
// --depth above 1, whole planes are put into lattices. Data of blocks are packed, arrive in memory
// that alternates as lattices do, and are unpacked before the next step reads them.
#include "suites/lbm/lbm_program.hpp"

#include <algorithm>

namespace mgpu::lbm {
namespace {

// Block of halos that receives, in place, populations that crossed a border.
constexpr std::uint32_t kLanded = 1;

std::string options(const Problem& problem, const LbmWorkload::Variant& variant, bool sends) {
  std::string text;
  if (problem.has_walls_x()) text += " -DWALL_X";
  if (problem.has_walls_y()) text += " -DWALL_Y";
  if (problem.flow == Flow::channel) text += " -DFORCED";
  if (problem.half_block > 0) text += " -DHALVED";
  if (problem.half_storage) text += " -DHALF_STORAGE";
  if (sends) text += " -DSENDS";
  if (variant.streams > 0) text += " -DSTREAMING=" + std::to_string(variant.streams);
  return text.empty() ? text : text.substr(1);
}

}  // namespace

LbmProgram::LbmProgram(LbmWorkload& workload, DeviceResources& device, Mode mode)
    : HaloProgram(workload, mode, workload.is_connected() ? device.peer() : nullptr),
      variant_(workload.variant_on(device.traits())) {
  const std::string given = options(problem_, variant_, stores_to_others());
  const auto kernel = [&](const char* entry) { return device.kernel("lbm.cl", entry, given); };
  begin_ = kernel("begin");
  look_ = kernel("look");
  if (problem_.lattices == 2) {
    step_between_ = kernel("step_between");
  } else {
    step_across_ = kernel("step_across");
    step_within_ = kernel("step_within");
    if (peer_ != nullptr) take_crossed_ = kernel("take_crossed");
  }
  if (problem_.half_block > 0 && peer_ != nullptr) {
    pack_ = kernel("pack_half");
    unpack_ = kernel("unpack_half");
    packed_ = device.allocate(2 * problem_.half_halo_bytes());
  }
  const Lattice& lattice = workload_.lattice();
  along_ = device.allocate(problem_.n * sizeof(Cell));
  across_ = device.allocate(problem_.planes * sizeof(Cell));
  fields_ = device.allocate(lattice.slots * problem_.cells_of_plane() * sizeof(Cell));
  if (problem_.from_file)
    file_ = device.allocate(planes_of_file(problem_, lattice, mode_) * problem_.cells_of_plane() *
                            sizeof(Cell));
  if (problem_.checkpoint_rounds > 0) {
    copy_kernel_ = device.kernel("copy_part.cl", "copy_part", "");
    for (std::uint64_t which = 0; which < lattice.pieces(); ++which)
      copies_.push_back(device.allocate(lattice.slots_of_piece(which) * problem_.plane_bytes()));
  }
  if (problem_.columns > 1) {
    pack_ = kernel("pack");
    unpack_ = kernel("unpack");
    if (peer_ != nullptr)
      exchange_.emplace(device, most_landing(problem_) * problem_.number_bytes(),
                        problem_.number_bytes());
  }
  for (std::uint64_t which = 0; which < lattice.pieces(); ++which)
    pieces_.emplace_back(workload_.shared(which), device,
                         lattice.slots_of_piece(which) * problem_.plane_bytes(), problem_.lattices);
}

// Returns the plane next to a run: its place in the lattice, or in the halos that a neighbour sent.
LbmProgram::Beside LbmProgram::beside(std::int64_t z, std::uint32_t lattice) {
  if (mailed_ && (z + 1 == planes_of(*done_).first || z == planes_of(*done_).end))
    return {&workload_.halos()->piece(peer_->self()), lattice};
  const Slot slot = workload_.lattice().slot_of(z);
  return {&piece(lattice, slot.piece), u32(slot.at)};
}

Grid LbmProgram::grid(const Kernel& kernel, std::uint64_t rows, std::uint64_t planes) const {
  const std::size_t local = group_of(variant_.local, kernel);
  return {{round_up(problem_.n, local), rows, planes}, {local, 1, 1}};
}

// Uploads the input that a device needs before it knows its share: the tables, which are small, or
// the whole file.
void LbmProgram::load(Stream& stream) {
  if (file_) {
    stream.upload(*file_, 0, workload_.file());
    return;
  }
  stream.upload(*along_, 0, std::as_bytes(std::span(workload_.tables().along)));
  stream.upload(*across_, 0, std::as_bytes(std::span(workload_.tables().across)));
}

void LbmProgram::prepare(Stream& stream) {
  if (mode_ == Mode::end_to_end && !file_) load(stream);
}

void LbmProgram::enqueue(const Slice& slice, unsigned, Stream& stream) {
  take_share(slice);
  if (problem_.columns > 1) {
    // A share consists of patches, and what lies next to it of parts of patches.
    begin({0, static_cast<std::int64_t>(problem_.planes)}, stream);
  } else {
    const bool all = slice.size() == problem_.planes;
    const std::int64_t halo = all ? 0 : problem_.depth;
    const Planes planes{planes_of(slice).first - halo, planes_of(slice).end + halo};
    if (const std::uint32_t steps = workload_.begun_from(); steps > 0) {
      restore(workload_.checkpoint(steps), planes, steps, stream);
    } else {
      begin(planes, stream);
    }
  }
  meet();  // neighbours are done with what the first exchange overwrites
}

void LbmProgram::take_share(const Slice& slice) {
  mailed_ = false;
  if (problem_.columns == 1) return settle_between_neighbours(slice, true);
  settle(slice);
  mine_ = patches_of(problem_.pieces(), slice);
  if (exchange_) others_ = exchange_->settle(workload_.transfers(), peer_->self());
}

// Sets planes to the initial state. Cells of a file that are not on the device yet are uploaded,
// one plane after another.
void LbmProgram::begin(const Planes& planes, Stream& stream) {
  const Bytes plane = problem_.cells_of_plane() * sizeof(Cell);
  std::uint64_t at = 0;
  for (const Run& run : runs(planes)) {
    Buffer* from = fields_.get();
    std::uint64_t first = 0;
    if (file_) {
      from = file_.get();
      first = mode_ == Mode::resident ? run.in_box : at;
      if (mode_ == Mode::end_to_end)
        stream.upload(*file_, at * plane,
                      workload_.file().subspan(run.in_box * plane, run.count * plane));
      at += run.count;
    }
    stream.launch(
        *begin_, grid(*begin_, problem_.n, run.count),
        {&piece(0, run.slot.piece), along_.get(), across_.get(), from,
         std::uint32_t{file_ == nullptr}, std::uint32_t{problem_.lattices == 1}, u32(run.slot.at),
         u32(run.in_box), u32(first), u32(problem_.n), u32(problem_.n), u32(problem_.stride())});
  }
}

// Uploads the populations of planes from a checkpoint after `steps` steps, rows without gaps, to
// their places in the lattice.
void LbmProgram::restore(const std::byte* host, const Planes& planes, std::uint32_t steps,
                         Stream& stream) {
  const Bytes row = problem_.n * problem_.number_bytes(),
              stride = problem_.stride() * problem_.number_bytes();
  const std::uint64_t rows = populations * problem_.n;
  for (const Run& run : runs(planes))
    stream.upload_rows(piece(lattice_after(steps), run.slot.piece), host + run.in_box * rows * row,
                       {row, run.count * rows, run.slot.at * problem_.plane_bytes(), stride, row});
}

// Computes the edges that others need. Those of blocks are computed again with the rest.
bool LbmProgram::step_edges(const Slice& slice, std::uint32_t round, Stream& stream) {
  if (stores_to_others()) return false;
  if (problem_.columns > 1) {
    for (const Transfer& transfer : exchange_->sends()) step_patch(transfer.patch, round, stream);
    return true;
  }
  const auto [first, end] = planes_of(slice);
  const std::int64_t depth = problem_.depth;
  if (end - first <= 2 * depth) return false;
  step_rows({first, first + depth}, round, stream);
  step_rows({end - depth, end}, round, stream);
  return true;
}

void LbmProgram::step_share(const Slice& slice, std::uint32_t round, std::int64_t more,
                            Stream& stream) {
  for (const Patch& patch : mine_) step_patch(patch, round, stream);
  const auto [first, end] = planes_of(slice);
  if (problem_.columns == 1) step_rows({first - more, end + more}, round, stream);
}

void LbmProgram::step(const Planes& planes, std::uint64_t left, std::uint64_t right,
                      std::uint32_t round, Stream& stream) {
  const std::uint32_t n = u32(problem_.n), stride = u32(problem_.stride()),
                      from = lattice_after(round), to = lattice_after(round + 1);
  for (const Run& run : runs(planes)) {
    const Beside before = beside(run.z - 1, from),
                 after = beside(run.z + static_cast<std::int64_t>(run.count), from);
    Buffer& own = piece(from, run.slot.piece);
    Kernel& kernel = problem_.lattices == 2 ? *step_between_
                     : round % 2 == 0       ? *step_across_
                                            : *step_within_;
    const Grid all = grid(kernel, right - left, run.count);
    if (problem_.lattices == 2) {
      std::vector<KernelArg> args{&own,
                                  before.in,
                                  before.at,
                                  after.in,
                                  after.at,
                                  &piece(to, run.slot.piece),
                                  u32(run.slot.at),
                                  u32(left),
                                  u32(right),
                                  n,
                                  n,
                                  stride,
                                  problem_.even_rate,
                                  problem_.odd_rate,
                                  problem_.drag(),
                                  problem_.lift()};
      if (problem_.half_block > 0)  // nothing is exchanged after the last step
        args.insert(args.end(), {u32(run.in_box), u32(problem_.planes),
                                 is_last(round) ? 0U : u32(problem_.half_block)});
      if (stores_to_others()) add_targets(run, round, args);
      stream.launch(kernel, all, args);
    } else if (round % 2 == 0) {
      stream.launch(
          kernel, all,
          {&own, before.in, before.at, after.in, after.at, u32(run.slot.at), u32(left), u32(right),
           n, n, stride, problem_.even_rate, problem_.odd_rate, problem_.drag(), problem_.lift()});
    } else {
      stream.launch(kernel, all,
                    {&own, u32(run.slot.at), u32(left), u32(right), n, n, stride,
                     problem_.even_rate, problem_.odd_rate, problem_.drag(), problem_.lift()});
    }
  }
}

// Appends the neighbours' halos that a step stores into.
void LbmProgram::add_targets(const Run& run, std::uint32_t round, std::vector<KernelArg>& args) {
  const Planes mine = planes_of(*done_);
  const bool sends = !others_.empty() && !is_last(round), lower = sends && run.z == mine.first,
             upper = sends && run.z + static_cast<std::int64_t>(run.count) == mine.end;
  const DeviceIndex self = peer_->self();
  const auto halos = [&](bool are_sent, const Owner* neighbour) {
    return workload_.halos()->remote(self, are_sent ? neighbour->device : self);
  };
  args.insert(args.end(), {halos(lower, neighbours_.before), halos(upper, neighbours_.after),
                           lattice_after(round + 1), (lower ? 1U : 0U) | (upper ? 2U : 0U)});
}

void LbmProgram::put(std::int64_t z, std::uint32_t steps, DeviceIndex to, std::int64_t on) {
  const Lattice& lattice = workload_.lattice();
  const Slot here = lattice.slot_of(z), there = lattice.slot_of(z + on);
  const std::uint32_t which = lattice_after(steps);
  const Bytes plane = problem_.plane_bytes();
  peer_->put(piece(which, here.piece), here.at * plane, workload_.shared(there.piece)[which], to,
             there.at * plane, plane);
}

void LbmProgram::send(const Slice& slice, std::uint32_t round, Stream& stream) {
  if (stores_to_others()) return;  // steps do
  if (problem_.half_block > 0) return send_halves(slice, round + 1, stream);
  if (problem_.columns == 1) return send_slab(slice, round + 1);
  exchange_->send(
      *peer_, workload_.landing()[round + 1],
      [&](const Transfer& transfer, Buffer& to, std::uint64_t at) {
        copy_block(true, transfer, to, at, round + 1, stream);
      },
      [](const Transfer&) {});
}

void LbmProgram::take(const Slice& slice, std::uint32_t round, Stream& stream) {
  if (problem_.columns > 1) {
    exchange_->take(workload_.landing()[round + 1].piece(peer_->self()),
                    [&](const Transfer& transfer, Buffer& from, std::uint64_t at) {
                      copy_block(false, transfer, from, at, round + 1, stream);
                    });
  } else if (layout_after(round + 1) == 2) {
    take_crossed(planes_of(slice), stream);
  } else {
    mailed_ = workload_.halos() != nullptr;
  }
  if (problem_.half_block > 0) take_halves(round + 1, stream);
}

// Copies populations of a patch from a lattice into packed memory, or back.
void LbmProgram::copy_block(bool packs, const Transfer& transfer, Buffer& packed, std::uint64_t at,
                            std::uint32_t steps, Stream& stream) {
  const Patch& patch = transfer.patch;
  for (const Run& run : runs(planes_of(patch))) {
    Buffer& in = piece(lattice_after(steps), run.slot.piece);
    Kernel& kernel = packs ? *pack_ : *unpack_;
    stream.launch(kernel, grid(kernel, patch.right - patch.left, run.count),
                  {packs ? &in : &packed, packs ? &packed : &in, at, transfer.which,
                   u32(run.slot.at), u32(patch.left), u32(patch.right), u32(problem_.n),
                   u32(problem_.n), u32(problem_.stride())});
    at += run.count * (transfer.numbers / (patch.end - patch.first));
  }
}

// Sends what the neighbours need for the next step.
void LbmProgram::send_slab(const Slice& slice, std::uint32_t steps) {
  const Planes mine = planes_of(slice);
  const auto planes = static_cast<std::int64_t>(problem_.planes);
  const DeviceIndex before = neighbours_.before->device, after = neighbours_.after->device;
  if (workload_.halos() ==
      nullptr) {  // planes beyond the border are computed too, and need all populations
    // Neighbours number planes on past the end of the box.
    const std::int64_t on_before = mine.first == 0 ? planes : 0,
                       on_after = mine.end == planes ? -planes : 0;
    for (std::int64_t i = 0; i < std::int64_t{problem_.depth}; ++i) {
      put(mine.end - 1 - i, steps, after, on_after);
      put(mine.first + i, steps, before, on_before);
    }
    return;
  }
  const std::uint32_t layout = layout_after(steps), lattice = lattice_after(steps);
  if (layout == 2) {  // populations that crossed the borders
    put_crossing(mine.end, lattice, first_up, after, kLanded);
    put_crossing(mine.first - 1, lattice, first_down, before, kLanded);
    return;
  }
  put_crossing(mine.end - 1, lattice, layout == 1 ? first_down : first_up, after, lattice);
  put_crossing(mine.first, lattice, layout == 1 ? first_up : first_down, before, lattice);
}

// Sends what crosses the borders of the share in half precision, which loses nothing, as the step
// has rounded it. Memory for it alternates as lattices do, with a place per direction.
void LbmProgram::send_halves(const Slice& slice, std::uint32_t steps, Stream& stream) {
  const Planes mine = planes_of(slice);
  const Bytes size = problem_.half_halo_bytes();
  const std::uint32_t lattice = lattice_after(steps);
  const auto send = [&](std::uint32_t place, std::int64_t z, std::uint32_t first, DeviceIndex to) {
    const Slot slot = workload_.lattice().slot_of(z);
    stream.launch(*pack_, grid(*pack_, problem_.n, crossing),
                  {&piece(lattice, slot.piece), packed_.get(), place * size / 2, u32(slot.at),
                   first, u32(problem_.n), u32(problem_.n), u32(problem_.stride())});
    peer_->put(*packed_, place * size, *workload_.half_halos(), to, (2 * lattice + place) * size,
               size);
  };
  send(0, mine.end - 1, first_up, neighbours_.after->device);
  send(1, mine.first, first_down, neighbours_.before->device);
}

// Unpacks to the halos what neighbours sent.
void LbmProgram::take_halves(std::uint32_t steps, Stream& stream) {
  const std::uint32_t lattice = lattice_after(steps);
  for (const std::uint32_t place : {0U, 1U})
    stream.launch(
        *unpack_, grid(*unpack_, problem_.n, crossing),
        {&workload_.half_halos()->piece(peer_->self()), &workload_.halos()->piece(peer_->self()),
         (2 * lattice + place) * problem_.half_halo_bytes() / 2, lattice,
         place == 0 ? first_up : first_down, u32(problem_.n), u32(problem_.n),
         u32(problem_.stride())});
}

// Puts five populations of plane z to their place in a block of another device's halos.
void LbmProgram::put_crossing(std::int64_t z, std::uint32_t lattice, std::uint32_t first,
                              DeviceIndex to, std::uint32_t block) {
  const Beside from = beside(z, lattice);
  const Bytes skipped = first * problem_.population_bytes();
  peer_->put(*from.in, from.at * problem_.plane_bytes() + skipped, *workload_.halos(), to,
             block * problem_.plane_bytes() + skipped, crossing * problem_.population_bytes());
}

void LbmProgram::take_crossed(const Planes& mine, Stream& stream) {
  const auto take = [&](std::int64_t z, std::uint32_t first) {
    const Slot slot = workload_.lattice().slot_of(z);
    stream.launch(*take_crossed_, grid(*take_crossed_, problem_.n, 1),
                  {&workload_.halos()->piece(peer_->self()), &piece(0, slot.piece),
                   kLanded * populations + first, first, u32(slot.at), u32(problem_.n),
                   u32(problem_.n), u32(problem_.stride())});
  };
  take(mine.first, first_up);
  take(mine.end - 1, first_down);
}

// Sends the new owners all of their planes, and the halos next to these. A plane that stays on its
// device keeps its place.
void LbmProgram::move(const Slice& from, const Slice& to, std::uint32_t steps, Stream&) {
  for (const Owner& owner : workload_.owners())
    if (owner.device != peer_->self())
      for (const auto& [begin, end, shift] :
           strips_of(from, owner.items, problem_.depth, problem_.planes))
        for (std::int64_t z = begin; z < end; ++z) put(z, steps, owner.device, shift);
  meet_all();
  take_share(to);
}

// Downloads a copy of the state, because later steps change the lattice.
Completion LbmProgram::checkpoint(const Slice& slice, std::uint32_t steps, Stream& stream) {
  const Bytes row = problem_.n * problem_.number_bytes(),
              stride = problem_.stride() * problem_.number_bytes(), plane = problem_.plane_bytes();
  const std::uint64_t rows = populations * problem_.n;
  std::byte* const host = workload_.checkpoint(steps);
  for (const Run& run : runs(planes_of(slice))) {
    Buffer& copy = *copies_[run.slot.piece];
    const Bytes first = run.slot.at * plane;
    copy_part(*copy_kernel_, piece(lattice_after(steps), run.slot.piece), copy, first,
              run.count * plane, stream);
    stream.download_rows(copy, host + run.in_box * rows * row,
                         {row, run.count * rows, first, stride, row});
  }
  return checkpointed(slice, steps);
}

// ResultPolicy velocities and densities of the share to the host.
void LbmProgram::bring_result(const Slice& slice, Stream& stream) {
  const std::uint32_t n = u32(problem_.n), steps = problem_.steps, from = lattice_after(steps);
  const std::vector<Patch> patches =
      problem_.columns > 1 ? mine_ : std::vector<Patch>{{slice.begin, slice.end, 0, problem_.n}};
  for (const Patch& patch : patches) {
    const std::uint64_t base =
        problem_.columns > 1 ? 0 : patch.first;  // plane whose fields come first on the device
    for (const Run& run : runs(planes_of(patch))) {
      const Beside before = beside(run.z - 1, from),
                   after = beside(run.z + static_cast<std::int64_t>(run.count), from);
      stream.launch(
          *look_, grid(*look_, patch.right - patch.left, run.count),
          {&piece(from, run.slot.piece), before.in, before.at, after.in, after.at, fields_.get(),
           layout_after(steps), u32(run.slot.at), u32(run.in_box - base), u32(patch.left),
           u32(patch.right), n, n, u32(problem_.stride()), problem_.half_force()});
    }
    const Bytes row = problem_.n * sizeof(Cell), plane = problem_.n * row,
                length = (patch.right - patch.left) * row;
    stream.download_rows(*fields_,
                         workload_.result().data() + patch.first * plane + patch.left * row,
                         {length, patch.end - patch.first,
                          (patch.first - base) * plane + patch.left * row, plane, plane});
  }
}

}  // namespace mgpu::lbm
