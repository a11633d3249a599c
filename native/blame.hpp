// Blame: which element and degree of freedom a step fails by, for its message.
#pragma once

#include <string>
#include <vector>

#include "scene.hpp"
#include "stepper.hpp"

namespace diffsim {

/// Of coordinates, rates [m, m/s, rad/s] and derivatives: beyond it squares overflow with others.
inline constexpr double kBeyond = 1e100;

std::vector<const Element*> elements_of(const Scene& scene);

/// Row of the largest entry, or of the first that is not finite; -1: none is beyond kBeyond.
int row_beyond(const MatrixXd& M);

/// Row that makes A singular: the first with an entry that is not finite, else of the diagonal
/// block that is nearest to singular.
int singular_row(const Scene& scene, const BlockMatrix& A);

/// Of a step whose derivatives cannot be computed: where A or a derivative by the past or by
/// parameters is not finite, else where what is carried through it (S, cotangents: rows are dofs)
/// is beyond kBeyond, else singular_row().
int singular_row(const Scene& scene, const LinearizedStep& step,
                 const std::vector<const MatrixXd*>& carried);

/// Name of the one of `elements` with the largest stiffness or damping in the rows of the node of
/// `dof` (of joints' coordinates: in all), other than inertia and weight where there is another;
/// "": none acts there.
std::string stiffest(const Scene& scene, const std::vector<const Element*>& elements,
                     const Window& window, const VectorXd& p, int dof);

/// Name of the one with the largest force on that node, chosen alike.
std::string strongest(const Scene& scene, const std::vector<const Element*>& elements,
                      const Window& window, const VectorXd& p, int dof);

/// Body or joint that dof is of.
std::string owner_of(const Scene& scene, int dof);

/// "; worst element 'NAME', worst dof NAME"; where no element acts, the owner in its place.
std::string worst_text(const Scene& scene, const std::string& element, int dof);

}  // namespace diffsim
