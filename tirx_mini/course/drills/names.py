"""Alternative names for the variables of the references, selected by the seed of a drill."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

NAMES: Mapping[str, tuple[str, ...]] = MappingProxyType({
    "Asmem": ("a_smem", "a_tiles"),
    "Bsmem": ("b_smem", "b_tiles"),
    "Dsmem": ("d_smem", "d_tile"),
    "Dreg_wg": ("acc_wg", "out_wg"),
    "Dreg_16b": ("acc_16b", "out_16b"),
    "Dreg": ("acc", "out"),
    "Dacc": ("acc_view", "sums"),
    "D_16b": ("d_view", "half_view"),
    "tma_bar": ("load_bar", "arrived"),
    "mma_bar": ("product_bar", "multiplied"),
    "tma2mma": ("full", "loaded"),
    "mma2tma": ("empty", "consumed"),
    "mma2ld": ("acc_full", "result_ready"),
    "ld2mma": ("acc_empty", "result_taken"),
    "tma2mma_cta0": ("full_cta0", "loaded_cta0"),
    "tma_phase": ("load_state", "load_ring"),
    "mma_phase": ("mma_state", "mma_ring"),
    "ld_phase": ("acc_state", "drain_state"),
    "wb_phase": ("out_state", "store_state"),
    "phase_tma": ("load_parity", "parity_tma"),
    "phase_mma": ("mma_parity", "parity_mma"),
    "tile_scheduler": ("tiles", "scheduler"),
    "tma_load": ("load", "load_tiles"),
    "write_back": ("epilogue", "write_out"),
    "read_tmem": ("read_result", "drain"),
    "store": ("store_result", "put"),
    "m_st": ("row0", "m_first"),
    "n_st": ("col0", "n_first"),
    "k_st": ("k0", "k_first"),
    "m_epi": ("row_epi", "m_chunk"),
    "n_epi": ("col_epi", "n_chunk"),
})  # fmt: skip
