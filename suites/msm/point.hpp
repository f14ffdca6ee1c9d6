// Points on the host, as needed to merge, to make bases and to compute the reference of file
// inputs. The formulas are from the Explicit-Formulas Database (madd-2008-s, add-2008-s,
// dbl-2008-s-1 for a = 0), with all special cases.
#pragma once

#include <vector>

#include "suites/msm/field.hpp"

namespace mgpu::msm {

template <class C>
struct Affine {
  Fp<C> x, y;  // both zero at infinity
  bool infinity() const { return x.zero() && y.zero(); }
  Affine operator-() const { return {x, -y}; }
  bool operator==(const Affine&) const = default;
};

template <class C>
bool on_curve(const Affine<C>& p) {
  typename Fp<C>::Plain b{};
  b[0] = C::b;
  return p.infinity() || p.y * p.y == p.x * p.x * p.x + Fp<C>::from_plain(b);
}

template <class C>
Affine<C> generator() {
  return {Fp<C>::from_plain(C::x), Fp<C>::from_plain(C::y)};
}

// A point with x = X / ZZ, y = Y / ZZZ, ZZ^3 = ZZZ^2; infinity has ZZ = 0.
template <class C>
struct Sum {
  Fp<C> x, y, zz, zzz;
  bool infinity() const { return zz.zero(); }

  Sum doubled() const {
    if (infinity() || y.zero()) return {};
    const Fp<C> u = y + y, v = u * u, w = u * v, s = x * v, xx = x * x, m = xx + xx + xx;
    Sum r;
    r.x = m * m - s - s;
    r.y = m * (s - r.x) - w * y;
    r.zz = v * zz;
    r.zzz = w * zzz;
    return r;
  }
  Sum operator+(const Sum& b) const {
    if (infinity()) return b;
    if (b.infinity()) return *this;
    return chord({x * b.zz, y * b.zzz, zz * b.zz, zzz * b.zzz}, b.x * zz, b.y * zzz);
  }
  Sum operator+(const Affine<C>& b) const {
    if (b.infinity()) return *this;
    if (infinity()) return {b.x, b.y, Fp<C>::one(), Fp<C>::one()};
    return chord(*this, b.x * zz, b.y * zzz);
  }

 private:
  // Returns a plus the point (u / a.zz, s / a.zzz).
  static Sum chord(const Sum& a, const Fp<C>& u, const Fp<C>& s) {
    const Fp<C> p = u - a.x, r = s - a.y;
    if (p.zero()) return r.zero() ? a.doubled() : Sum{};
    const Fp<C> pp = p * p, ppp = p * pp, q = a.x * pp;
    Sum sum;
    sum.x = r * r - ppp - q - q;
    sum.y = r * (q - sum.x) - a.y * ppp;
    sum.zz = a.zz * pp;
    sum.zzz = a.zzz * ppp;
    return sum;
  }
};

template <class C>
Affine<C> to_affine(const Sum<C>& a) {
  if (a.infinity()) return {};
  const Fp<C> zzz_inverse = a.zzz.inverse();
  const Fp<C> z_inverse = zzz_inverse * a.zz;  // ZZ / ZZZ = 1 / Z
  return {a.x * z_inverse * z_inverse, a.y * zzz_inverse};
}

template <class C>
Sum<C> times(const Affine<C>& p, const Scalar& scalar) {
  Sum<C> sum;
  for (std::size_t i = 256; i-- > 0;) {
    sum = sum.doubled();
    if (bit(scalar, i)) sum = sum + p;
  }
  return sum;
}

}  // namespace mgpu::msm
