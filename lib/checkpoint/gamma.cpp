#include "checkpoint/gamma.hpp"

#include <cmath>
#include <limits>
#include <numbers>

namespace railhead::checkpoint {

namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();
constexpr double tiny = 1e-300;
constexpr int enough = 200'000;  // terms needed grow with the root of a: some 20,000 at 1e7

/// ln Γ(a + 1) less a ln a - a + ln(2 π a) / 2, which is what Stirling leaves; std::lgamma writes
/// to a global variable.
double stirling_rest(double a) {
    double down = 0;  // by recurrence to where the series is exact
    constexpr double large = 16;
    double at = a;
    while (at < large) {
        down += (at + 0.5) * std::log1p(1 / at) - 1;
        at += 1;
    }
    const auto square = 1 / (at * at);
    return down + (1.0 / 12 - square * (1.0 / 360 - square * (1.0 / 1260 - square / 1680))) / at;
}

/// x^a e^-x / Γ(a + 1), without cancelling where x is near a large a.
double poisson_term(double a, double x) {
    const auto off = (x - a) / a;
    const auto exponent = std::abs(off) < 0.1 ? std::log1p(off) - off : std::log(x / a) - off;
    return std::exp(a * exponent - stirling_rest(a)) / std::sqrt(2 * std::numbers::pi * a);
}

double lower_by_series(double a, double x) {
    double term = 1;
    double sum = 1;
    for (int n = 1; n < enough && term > sum * epsilon; ++n) {
        term *= x / (a + n);
        sum += term;
    }
    return poisson_term(a, x) * sum;
}

/// Lentz's way through the continued fraction of Q(a, x).
double upper_by_fraction(double a, double x) {
    double b = x + 1 - a;
    double c = 1 / tiny;
    double d = 1 / b;
    double h = d;
    for (int n = 1; n < enough; ++n) {
        const auto an = -n * (n - a);
        b += 2;
        d = an * d + b;
        d = 1 / (std::abs(d) < tiny ? tiny : d);
        c = b + an / c;
        c = std::abs(c) < tiny ? tiny : c;
        h *= d * c;
        if (std::abs(d * c - 1) < epsilon) {
            break;
        }
    }
    return poisson_term(a, x) * a * h;
}

}  // namespace

double gamma_p(double a, double x) {
    if (!(x > 0)) {
        return 0;
    }
    return x < a + 1 ? lower_by_series(a, x) : 1 - upper_by_fraction(a, x);
}

double gamma_p_inverse(double a, double p) {
    if (!(p > 0)) {
        return 0;
    }
    double low = 0;
    double high = a + 1;
    while (gamma_p(a, high) < p) {
        low = high;
        high *= 2;
    }
    constexpr int halvings = 200;
    for (int i = 0; i < halvings && high - low > high * 2 * epsilon; ++i) {
        const auto middle = low + (high - low) / 2;
        (gamma_p(a, middle) < p ? low : high) = middle;
    }
    return low + (high - low) / 2;
}

}  // namespace railhead::checkpoint
