"""Views: how the dimensions that a module sees lie in those of a tensor.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Permutations, broadcasts, and reshapes that join dimensions move nothing: they change which
axes of a tensor a dimension consists of. So they live here, and later in indexing maps, and no
operation is written for them.

Example: keys [1, t, 2, d] of two KV heads, transposed to [1, 2, t, d], repeated for three query
heads each (unsqueeze, expand) and reshaped to [1, 6, t, d], are the same tensor; dimension 1 is
axis 2 of size 2, then a broadcast of size 3.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple, Optional


class Atom(NamedTuple):
    """An axis of the tensor, or (axis None) a repetition; never of size one."""
    axis: Optional[int]
    size: int


@dataclass(frozen=True)
class View:
    """`dims[i]`, major first, are the atoms of dimension i; () is size one."""
    tensor: tuple
    dims: tuple

    @staticmethod
    def of(shape):
        return View(tuple(shape), tuple((Atom(i, n),) if n != 1 else ()
                                        for i, n in enumerate(shape)))

    @property
    def shape(self):
        return tuple(math.prod(a.size for a in dim) for dim in self.dims)

    @property
    def atoms(self):
        return [atom for dim in self.dims for atom in dim]

    @property
    def is_broadcast(self):
        return any(atom.axis is None for atom in self.atoms)

    @property
    def is_plain(self):
        return self == View.of(self.tensor)

    @property
    def is_ordered(self):
        """Each element of the tensor is seen once, in its order."""
        axes = [atom.axis for atom in self.atoms]
        return (None not in axes and axes == sorted(axes)
                and math.prod(self.shape) == math.prod(self.tensor))

    def permute(self, order):
        return View(self.tensor, tuple(self.dims[i] for i in order))

    def insert(self, at):
        return View(self.tensor, self.dims[:at] + ((),) + self.dims[at:])

    def drop(self, at):
        assert not self.dims[at], "a dimension of size one"
        return View(self.tensor, self.dims[:at] + self.dims[at + 1:])

    def expand(self, shape):
        """To `shape`, aligned at the right; dimensions of size one repeat."""
        dims = ((),) * (len(shape) - len(self.dims)) + self.dims
        sizes = (1,) * (len(shape) - len(self.dims)) + self.shape
        return View(self.tensor, tuple(
            dim if size == want else (Atom(None, want),)
            for dim, size, want in zip(dims, sizes, shape)))

    def unrepeat(self, dim):
        """Without what repeats each element of dimension `dim` one behind the other, and the
        atoms that did."""
        kept, repeats = self.dims[dim], ()
        while kept and kept[-1].axis is None:
            kept, repeats = kept[:-1], kept[-1:] + repeats
        return self._with(dim, kept), repeats

    def repeat(self, dim, repeats):
        return self._with(dim, self.dims[dim] + repeats)

    def _with(self, dim, atoms):
        return View(self.tensor, self.dims[:dim] + (atoms,) + self.dims[dim + 1:])

    def reshape(self, shape):
        """The view of that shape; or the split (axis, outer size) of an axis that it needs
        first; or None, if elements would have to move."""
        atoms, at, dims = self.atoms, 0, []
        for want in shape:
            group = []
            while want > 1:
                if at == len(atoms):
                    return None
                atom = atoms[at]
                if want % atom.size == 0:
                    group.append(atom)
                    want //= atom.size
                    at += 1
                elif atom.size % want == 0:
                    if atom.axis is not None:
                        return atom.axis, want
                    atoms[at:at + 1] = [Atom(None, want), Atom(None, atom.size // want)]
                else:
                    return None
            dims.append(tuple(group))
        return View(self.tensor, tuple(dims)) if at == len(atoms) else None

    def split(self, axis, outer):
        """After axis has become two, of which the first has size `outer`."""
        inner = self.tensor[axis] // outer

        def renumber(atom):
            if atom.axis is None or atom.axis < axis:
                return (atom,)
            if atom.axis > axis:
                return (Atom(atom.axis + 1, atom.size),)
            return tuple(a for a in (Atom(axis, outer), Atom(axis + 1, inner)) if a.size != 1)
        tensor = self.tensor[:axis] + (outer, inner) + self.tensor[axis + 1:]
        return View(tensor, tuple(tuple(new for atom in dim for new in renumber(atom))
                                  for dim in self.dims))

    def resize(self, dim, size):
        """After the one axis of `dim` has been cut to `size`."""
        axis = self.dims[dim][0].axis
        tensor = self.tensor[:axis] + (size,) + self.tensor[axis + 1:]
        atoms = (Atom(axis, size),) if size != 1 else ()
        return View(tensor, self._with(dim, atoms).dims)


def refine(groups):
    """The sizes, major first, into which all of `groups` (sizes of one dimension each) can be
    split; None if two of them do not fit together. [(6,), (2, 3)] gives (2, 3)."""
    bounds = set()
    for group in groups:
        product = 1
        for size in reversed(group):
            product *= size
            bounds.add(product)
    sizes, last = [], 1
    for bound in sorted(bounds):
        if bound % last:
            return None
        if bound != last:
            sizes.append(bound // last)
        last = bound
    return tuple(reversed(sizes))
