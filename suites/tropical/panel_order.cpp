#include "suites/tropical/panel_order.hpp"

#include <algorithm>

namespace mgpu::tropical {

PanelOrder::PanelOrder(const Blocks& blocks, std::span<const Owner> owners, DeviceIndex self)
    : self_(self), owner_(blocks.count()) {
  const bool shares = std::any_of(owners.begin(), owners.end(),
                                  [&](const Owner& owner) { return owner.device == self; });
  for (const Owner& owner : owners) {
    for (Items item = owner.items.begin; item < owner.items.end; ++item)
      owner_[blocks.order[item]] = owner.device;
    if (shares && owner.device != self) others_.push_back(owner.device);
  }
}

PanelOrder::Signals PanelOrder::before_first_round() const {
  if (others_.empty()) return {};
  if (owns(0)) return {others_, {}, {}};
  return {{}, {}, owner_[0]};
}

PanelOrder::Signals PanelOrder::after_round(std::uint32_t round) const {
  Signals signals;
  if (others_.empty()) return signals;
  const std::uint32_t count = static_cast<std::uint32_t>(owner_.size());
  // This round's panel is finished; its place is free for that of round + panels_at_once.
  const std::uint32_t successor = round + panels_at_once;
  if (successor < count && !owns(successor)) signals.give.push_back(owner_[successor]);
  // In the next round this device may put a panel in a place that the others have used until about
  // one round ago.
  const std::uint32_t put_next = round + 2;
  if (put_next < count && put_next >= panels_at_once && owns(put_next))
    signals.await_readers = others_;
  if (round + 1 < count && !owns(round + 1)) signals.await_panel = owner_[round + 1];
  return signals;
}

}  // namespace mgpu::tropical
