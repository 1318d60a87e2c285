"""Tile schedulers: the order in which persistent CTAs or clusters compute output tiles."""

from __future__ import annotations

from typing import Any, ClassVar

from tirx_mini.ir import Expr, TirxError
from tirx_mini.script import in_dialect_of_tvm
from tirx_mini.script import tirx as Tx

from .arguments import Integer, check_count, check_label, given


class _Order:
    """An order of tiles; a subclass computes the position of the tile numbered `linear_idx`."""

    call: ClassVar[str] = 'BaseTileScheduler("tile")'
    """The call that error pages suggest."""

    def __init__(self, prefix: str) -> None:
        kind = type(self).__name__
        check_label(f"the first argument of {kind}, the prefix of its names,", prefix, self.call)
        self.linear_idx: Any = Tx.alloc_scalar("int32", f"{prefix}_linear_idx")
        self.m_idx: Any = Tx.alloc_scalar("int32", f"{prefix}_m_idx")
        self.n_idx: Any = Tx.alloc_scalar("int32", f"{prefix}_n_idx")

    @Tx.inline
    def update_current_m_n_idx(self, linear_idx: object) -> None:
        """Compute the position of a tile.

        linear_idx: the number of the tile.
        """

    @Tx.inline
    def _go_to(self, linear_idx: object) -> None:
        self.linear_idx = linear_idx
        self.update_current_m_n_idx(self.linear_idx)


class BaseTileScheduler(_Order):
    """The common part of schedulers, for derived classes with an inline method `update_current_m_n_idx` that computes
    `m_idx` and `n_idx` of the tile `linear_idx`.

    prefix: the prefix of the names of its variables.

    Cost: three registers of each thread.

    Example:

        scheduler = BaseTileScheduler("tile")
        scheduler.init(bx)
        while scheduler.valid(16):
            row = Tx.meta_var(scheduler.linear_idx * 128)
            scheduler.next_tile(8)
    """

    @Tx.inline
    def init(self, linear_init: Integer) -> None:
        """Select the first tile.

        linear_init: the number of the tile.
        """
        self._go_to(linear_init)

    @Tx.inline
    def next_tile(self, step: Integer) -> None:
        """Advance by a number of tiles.

        step: the number of tiles.
        """
        self._go_to(self.linear_idx + step)

    @Tx.inline
    def valid(self, total_tiles: Integer) -> Any:
        """Return whether the current tile exists.

        total_tiles: the number of tiles.
        """
        return self.linear_idx < total_tiles


class _GroupMajor(_Order):
    """An order by groups of tile rows, over `num_tiles` tiles in steps of `step`."""

    num_tiles: Any
    step: int

    def __init__(self, prefix: str) -> None:
        super().__init__(prefix)
        self.tile_idx: Any = Tx.alloc_scalar("int32", f"{prefix}_tile_idx") if in_dialect_of_tvm() else None

    @property
    def tile_count(self) -> Any:
        """TVM's name for `tile_idx`, the number of preceding tiles; only kernels in TVM's dialect have it."""
        return self.tile_idx

    @Tx.inline
    def _start(self, linear_init: Integer) -> None:
        if self.tile_idx is not None:
            self.tile_idx = 0
        self._go_to(linear_init)

    @Tx.inline
    def next_tile(self) -> None:
        """Advance to the next tile of this cluster or CTA."""
        self.next_tile_stride(self.step)

    @Tx.inline
    def next_tile_stride(self, stride: Integer) -> None:
        """Advance by a different number of tiles than `next_tile`.

        stride: the number of tiles, in the order of the scheduler.
        """
        if self.tile_idx is not None:
            self.tile_idx = self.tile_idx + 1
        self._go_to(self.linear_idx + stride)

    @Tx.inline
    def valid(self) -> Any:
        """Return whether the current tile exists: the condition of the loop over tiles."""
        return self.linear_idx < self.num_tiles


class ClusterPersistentScheduler2D(_GroupMajor):
    """Distributes the tiles of a num_m_tiles × num_n_tiles grid to `num_clusters` clusters, in an L2-friendly order.

    The order is group-major: each group of `l2_group_size` tile rows is traversed column by column, so concurrent tiles
    share rows of A and columns of B. Cluster c computes the tiles c, c + num_clusters, c + 2 num_clusters, …

    Its attributes `m_idx` and `n_idx` are the row and the column of the current tile.

    prefix: the prefix of the names of its three variables.
    num_m_tiles, num_n_tiles: the number of tiles along M and along N. The first may be a run-time value.
    num_clusters: the number of clusters, or of CTAs, in the grid.
    l2_group_size: the number of tile rows in a group.
    cluster_m, cluster_n: the consecutive tiles along M and N before the next group position; they divide
        the numbers of tiles.
    serpentine: go through blocks of `l2_group_size` × `l2_group_size` tiles, column by column of blocks, down and up in
        turn, instead; row by row in a block. The tiles that fill no block come last.

    Cost: three registers of each thread. A step computes two divisions by constants, and two by the rows of a group.

    Example:

        scheduler = ClusterPersistentScheduler2D("tile", num_m_tiles=8, num_n_tiles=8, num_clusters=4)
        scheduler.init(bx)
        while scheduler.valid():
            row = Tx.meta_var(scheduler.m_idx * 128)
            scheduler.next_tile()
    """

    call = 'ClusterPersistentScheduler2D("tile", M // BLK_M, N // BLK_N, num_clusters)'

    def __init__(
        self,
        prefix: str,
        num_m_tiles: Integer,
        num_n_tiles: int,
        num_clusters: int,
        l2_group_size: int = 8,
        cluster_m: int = 1,
        cluster_n: int = 1,
        serpentine: bool = False,
    ) -> None:
        super().__init__(prefix)
        for name, value in (
            ("num_m_tiles", 1 if isinstance(num_m_tiles, Expr) else num_m_tiles),
            ("num_n_tiles", num_n_tiles),
            ("l2_group_size", l2_group_size),
            ("num_clusters", num_clusters),
            ("cluster_m", cluster_m),
            ("cluster_n", cluster_n),
        ):
            empty = "the matrix may be smaller than one tile" if isinstance(value, int) and value == 0 else None
            check_count(
                f"{name} of ClusterPersistentScheduler2D", value, empty or _divided(value) or f"write {self.call}"
            )
        self.num_m_tiles, self.num_n_tiles = num_m_tiles, num_n_tiles
        self.num_clusters = self.step = num_clusters
        self.cluster_m, self.cluster_n, self.serpentine = cluster_m, cluster_n, serpentine
        self._check_shape()
        self.rows, self.cols = num_m_tiles // cluster_m, num_n_tiles // cluster_n
        self.group_rows = l2_group_size if isinstance(self.rows, Expr) else min(l2_group_size, self.rows)
        self.num_tiles = num_m_tiles * num_n_tiles

    def _check_shape(self) -> None:
        known = isinstance(self.num_m_tiles, int)
        if (known and self.num_m_tiles % self.cluster_m) or self.num_n_tiles % self.cluster_n:
            raise TirxError(
                f"{self.num_m_tiles} × {self.num_n_tiles} tiles are not a whole number of {self.cluster_m} × "
                f"{self.cluster_n} tiles",
                hint="choose cluster_m and cluster_n that divide the numbers of tiles",
            )
        if self.serpentine and not known:
            raise TirxError(
                "serpentine=True needs num_m_tiles to be known at compile time",
                hint="leave it out, or define the number of tiles outside the kernel",
            )

    @property
    def work_idx(self) -> Any:
        """TVM's name for `linear_idx`, the number of the current tile in the order."""
        return self.linear_idx

    @Tx.inline
    def init(self, cluster_id: Integer) -> None:
        """Select the first tile of a cluster.

        cluster_id: the index of the executing cluster in the grid.
        """
        _check_index("ClusterPersistentScheduler2D needs the index of the cluster", cluster_id)
        self._start(cluster_id)

    @Tx.inline
    def update_current_m_n_idx(self, linear_idx: Any) -> None:
        """Compute the row and the column of a tile.

        linear_idx: the number of the tile in the order.
        """
        first = Tx.meta_var(linear_idx // (self.cluster_m * self.cluster_n))
        if self.serpentine:
            self._serpentine(first)
        else:
            self._group_major(first)
        if self.cluster_m > 1:
            self.m_idx = self.m_idx * self.cluster_m + linear_idx % self.cluster_m
        if self.cluster_n > 1:
            self.n_idx = self.n_idx * self.cluster_n + linear_idx // self.cluster_m % self.cluster_n

    @Tx.inline
    def _group_major(self, index: Any) -> None:
        """Compute the position of an index within groups of rows; the last group has the remaining rows."""
        group = Tx.meta_var(index // (self.group_rows * self.cols))
        within = Tx.meta_var(index % (self.group_rows * self.cols))
        rows = Tx.meta_var(self._rows(group))
        self.m_idx = group * self.group_rows + within % rows
        self.n_idx = within // rows

    def _rows(self, group: Any) -> Any:
        if isinstance(self.rows, Expr):
            return Tx.max(Tx.min(self.rows - group * self.group_rows, self.group_rows), 1)
        full_groups, left = divmod(self.rows, self.group_rows)
        return Tx.if_then_else(group < full_groups, self.group_rows, left) if left else self.group_rows

    @Tx.inline
    def _serpentine(self, index: Any) -> None:
        """Compute the position of an index: in the blocks, then in the right strip, then in the bottom strip."""
        size = Tx.meta_var(self.group_rows)
        down, across = Tx.meta_var(self.rows // size), Tx.meta_var(self.cols // size)
        whole = Tx.meta_var(down * across * size * size)
        right = Tx.meta_var(self.cols - across * size)
        if index < whole:
            block, within = Tx.meta_var(index // (size * size)), Tx.meta_var(index % (size * size))
            column, row = Tx.meta_var(block // max(down, 1)), Tx.meta_var(block % max(down, 1))
            turned = Tx.meta_var(Tx.if_then_else(column % 2 == 0, row, down - 1 - row))
            self.m_idx = turned * size + within // size
            self.n_idx = column * size + within % size
        elif index < whole + right * self.rows:
            self.m_idx = (index - whole) % self.rows
            self.n_idx = across * size + (index - whole) // self.rows
        else:
            rest = Tx.meta_var(index - whole - right * self.rows)
            self.m_idx = down * size + rest // max(across * size, 1)
            self.n_idx = rest % max(across * size, 1)


def _divided(value: object) -> str | None:
    """Return the hint for a count that is a float, as int division by / produces."""
    return "divide with //, as in M // BLK_M" if isinstance(value, float) else None


def _check_index(needed: str, first: object) -> None:
    """Raise `TirxError` unless the first tile of a scheduler is a compile-time or run-time number."""
    if not isinstance(first, (Expr, int)):
        raise TirxError(
            f"init of {needed}, but {given(first)}",
            hint='write scheduler.init(bx), with bx = Tx.cta_id([num_clusters], parent="kernel")',
        )


class GroupMajor3D(_GroupMajor):
    """Distributes tiles of M, N and K by groups of `group_rows` tile rows: K outermost in each, then N, then rows.

    Its attributes `m_idx`, `n_idx` and `k_idx` are the position of the current tile.

    prefix: the prefix of the names of its variables.
    m_tiles, n_tiles, k_tiles: the number of tiles along M, N and K; the first may be a run-time value.
    group_rows: the number of tile rows in a group.
    step: the number of tiles that `next_tile` advances.

    Cost: four registers of each thread.

    Example:

        scheduler = GroupMajor3D("tile", m_tiles=5, n_tiles=3, k_tiles=2, group_rows=2, step=8)
        scheduler.init(bx)
        while scheduler.valid():
            row = Tx.meta_var(scheduler.m_idx * 128)
            scheduler.next_tile()
    """

    call = 'GroupMajor3D("tile", m_tiles, n_tiles, k_tiles, group_rows=8)'

    def __init__(
        self, prefix: str, m_tiles: Integer, n_tiles: int, k_tiles: int, group_rows: int, step: int = 1
    ) -> None:
        super().__init__(prefix)
        sizes = {"n_tiles": n_tiles, "k_tiles": k_tiles, "group_rows": group_rows, "step": step}
        if not isinstance(m_tiles, Expr):
            sizes["m_tiles"] = m_tiles
        for name, value in sizes.items():
            check_count(f"{name} of GroupMajor3D", value, _divided(value) or f"write {self.call}")
        self.m_tiles, self.n_tiles, self.k_tiles = m_tiles, n_tiles, k_tiles
        self.group_rows, self.step = group_rows, step
        self.num_tiles = m_tiles * n_tiles * k_tiles
        self.k_idx: Any = Tx.alloc_scalar("int32", f"{prefix}_k_idx")

    @Tx.inline
    def init(self, linear_init: Integer) -> None:
        """Select the first tile.

        linear_init: the number of the tile in the order.
        """
        _check_index("GroupMajor3D needs the number of the first tile", linear_init)
        self._start(linear_init)

    @Tx.inline
    def update_current_m_n_idx(self, linear_idx: Any) -> None:
        """Compute the position of a tile.

        linear_idx: the number of the tile in the order.
        """
        size = Tx.meta_var(self.group_rows * self.n_tiles * self.k_tiles)
        group, within = Tx.meta_var(linear_idx // size), Tx.meta_var(linear_idx % size)
        left = Tx.meta_var(self.m_tiles - group * self.group_rows)
        rows = Tx.meta_var(Tx.max(Tx.min(left, self.group_rows), 1))
        self.m_idx = group * self.group_rows + within % rows
        self.n_idx = within // rows % self.n_tiles
        self.k_idx = within // (rows * self.n_tiles)
