// The incomplete gamma function and its inverse, which the exact limits of a Poisson count need.
#pragma once

namespace railhead::checkpoint {

/// P(a, x), regularized lower incomplete gamma, for a > 0 and x >= 0: the chance that a Poisson
/// count of mean x is at least a.  Right to 1e-12 for a up to 1e7.
[[nodiscard]] double gamma_p(double a, double x);

/// The x with P(a, x) = p, for a > 0 and 0 <= p < 1; half a χ² quantile of 2a degrees of freedom.
[[nodiscard]] double gamma_p_inverse(double a, double p);

}  // namespace railhead::checkpoint
