// The interface of the server: requests, answers and the events of a run.

export type Severity = "error" | "warning" | "note";

export interface Finding {
  code: string | null; severity: Severity; title: string; text: string; help: string | null;
  line: number | null; column?: number | null; end_line?: number | null; end_column?: number | null;
  related: { line: number; where?: string; text: string }[];
  /** The place in a module beside the file, as in "tiles.py:12"; then `line` is 0. */
  where?: string;
  /** Of a help that leaves no choice. */
  edit: Edit | null;
  rule?: string;
  /** False: another order of the same events has it. */
  happened?: boolean;
  /** It follows from another one. */
  consequence?: boolean;
}
export interface Edit { line: number; before: string; after: string }

export interface Sizes { m: number; n: number; k: number }
export interface Kernel {
  name: string; step: number | null; title: string; written: boolean; line?: number;
  /** Null for a kernel that takes none. free: the dimensions that may be chosen, as in "MNK". */
  sizes: Sizes | null; free?: string;
  /** Of a kernel that a launch describes: its parameters, and whether it is a template, of which only instances run. */
  parameters?: string; template?: boolean;
}

export type Language = "python" | "cpp" | "ptx";

/** As the command `check` takes them; extents as in "8,4". */
export interface LaunchFields { args: string; grid: string; block: string; cluster: string; smem: number }

export interface Session {
  file: string; text: string; digest: string; writable: boolean;
  automatic: boolean; missing: string[]; ladder: string;
  gpus: { name: string; title: string; sms?: number }[]; kernels: Kernel[];
  /** The kernel that is shown first, if the command names one. */
  kernel?: string | null;
  course: boolean | { missing: string }; nvrtc: boolean | string; version: string; modules: string[];
  /** Of a file of CUDA C++ or PTX: its language, the stages of its kernels, and the launch that the command describes. */
  language?: Language; stages?: StageName[]; launch?: LaunchFields;
}

export const STAGES = ["tir", "passes", "cuda", "ptx", "sass"] as const;
export type StageName = (typeof STAGES)[number];
export type Want = "findings" | "timeline" | "bound" | "product" | StageName;

export interface RunRequest {
  text: string; kernel: string; constants: Record<string, number>; sizes: Sizes | null; gpu: string; sms: number | null;
  course: boolean; want: Want[]; asked: boolean; drill?: string;
  /** Those beside the file that the run may import. */
  modules: string[];
  launch?: LaunchFields;
}

export interface StageItem { name: string; text: string; lines: number[]; language?: string }
export interface BoundEvent {
  event: "bound"; headline: string; terms: { name: string; share: number; microseconds: number; time?: string }[]; sentences: string[]; clock: string;
  /** The times as `VerdictEvent` has them, with that of a launch by itself. */
  time?: string;
}
export interface ProductEvent {
  event: "product"; rows: number; columns: number; tile: [number, number]; tiles: number[][];
  worst: { tile: [number, number]; sentence: string }[];
}
export interface VerdictEvent {
  event: "verdict"; verdict: string; title?: string; findings?: Finding[]; seconds?: number; cycles?: number | null;
  microseconds?: number | null; stages?: number; notes?: string[];
  /** The times in the title. */
  time?: string;
}
export interface StageEvent { event: "stage"; stage: StageName; items?: StageItem[]; missing?: string }
export interface FailedEvent { event: "failed"; what: string; kind?: string; title: string; text: string; findings?: Finding[] }

export type RunEvent =
  | { event: "started"; run: number; limits: { build: number; simulate: number } }
  | { event: "built"; seconds: number; constants?: Record<string, { value: number | string; line: number }> }
  | { event: "progress"; fraction: number | null; seconds: number; text: string }
  | { event: "timeline"; data: string }
  | { event: "drill"; repaired: boolean; sentence: string; reason?: string }
  | { event: "done"; seconds: number }
  | VerdictEvent | BoundEvent | ProductEvent | StageEvent | FailedEvent;

/** A run without a server: what an exported page carries. */
export interface Recording { session: Session; text: string; events: RunEvent[] }

export interface Reveal {
  sentence?: string; product?: ProductEvent | null; right?: boolean; rule?: string; findings?: Finding[]; help?: string;
}
export interface Todo { id: string; step: number; line: number; title: string; open: boolean }
/** A question of a step; count: how many it has. */
export interface Question { question: string; unit: string; count: number }
/** figure, measured: with their units. */
export interface Mark { right: boolean; figure: string; said: string; reasons: string[]; measured: string | null }
/** causes: of which one is right; an answer names one by its number from 0. */
export interface Drill {
  id: string; text: string; symptom: string; kernel: string; sizes: Sizes; gpu: string; sms: number | null;
  causes: string[]; number: number; of: number;
}
