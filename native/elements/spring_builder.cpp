#include "../scene.hpp"
#include "spring.hpp"

namespace diffsim {
namespace {

// Empty, or `n` finite numbers above `lower`.
void check_each(const std::string& place, const VectorXd& values, std::size_t n, bool positive) {
  if (values.size() == 0) return;
  const bool enough = values.size() == static_cast<Eigen::Index>(n) && values.allFinite();
  if (enough && (positive ? values.minCoeff() > 0 : values.minCoeff() >= 0)) return;
  refuse(place,
         "must be " + std::to_string(n) + " numbers " + (positive ? "> 0" : ">= 0") +
             ", one per spring",
         enough ? std::to_string(values.minCoeff())
                : std::to_string(values.size()) + " of them or nan");
}

}  // namespace

void add_springs(Scene& scene, const std::string& name, const SpringBatch& batch) {
  scene.check_new("springs", name);
  const std::string place = "springs '" + name + "'";
  const PointSet* sets[2] = {&scene.point_set(batch.points_a), &scene.point_set(batch.points_b)};
  const std::vector<int>* index[2] = {&batch.index_a, &batch.index_b};
  std::vector<Springs::End> ends[2];
  if (batch.index_a.empty() || batch.index_a.size() != batch.index_b.size()) {
    refuse(place, "index_a and index_b must have the same, non-zero length",
           batch.index_a.size() != batch.index_b.size() ? "different lengths" : "none");
  }
  for (int m = 0; m < 2; ++m) {
    for (int i : *index[m]) {
      if (i < 0 || i >= sets[m]->size()) {
        refuse(place + ": point index",
               "must be in [0, " + std::to_string(sets[m]->size() - 1) + "]", i);
      }
      ends[m].push_back({m, i});
    }
  }
  check_each(place + ": rest_length", batch.natural_lengths, batch.index_a.size(), true);
  check_each(place + ": stiffness_factors", batch.factors, batch.index_a.size(), false);
  const bool natural = batch.natural_lengths.size() > 0;
  if (batch.tension_only && !natural && !(batch.rest_length > 0)) {
    refuse(place + ": rest_length", "must be > 0 [m] for strings (tension_only)",
           batch.rest_length);
  }
  ParameterTable& table = scene.table();
  SpringParameters params;
  params.stiffness = table.add(name + ".stiffness", "N/m", batch.stiffness, 0, kInfinity);
  params.damping = table.add(name + ".damping", batch.tension_only ? "s/m" : "N s/m", batch.damping,
                             0, kInfinity);
  params.rest = natural ? table.add(name + ".rest_scale", "1", 1, 0, kInfinity)
                        : table.add(name + ".rest_length", "m", batch.rest_length, 0, kInfinity);
  scene.add_element(std::make_unique<Springs>(name, std::vector<const PointSet*>{sets[0], sets[1]},
                                              ends[0], ends[1], params, batch.natural_lengths,
                                              batch.factors, batch.tension_only));
}

}  // namespace diffsim
