// What the page carries: one compressed block of a JSON header and columns of numbers, written by report/timeline.

export const RUN = 0, WAIT = 1, BUSY = 2;

interface Column { at: number; width: 1 | 2 | 4; length: number; signed: boolean; scale: number }

export interface Track { cta: number; kind: string; warp: number | null; role: string }
export interface LaneOfRun { cta: number; name: string; tracks: number[] }
export interface Cta { cta: number; name: string; sm: number; cluster: number; rank: number; start: number; end: number }
export interface TileOfRun { cta: number; start: number; end: number; name: string }
export interface Place { file: number; line: number }
export interface SourceFile { name: string; first: number; lines: string[] }
export interface FindingText { severity: string; code: string; message: string; hint: string; notes: string[]; place: number | null }
export interface Roof { name: string; value: number; unit: string; source: string }
export interface Point { name: string; intensity: number; tflops: number }
export interface Roofline { flops: number; peak: Roof; memories: Roof[]; points: Point[]; sentences: string[] }
export interface Bound {
  name: string; rest: string;
  causes: { name: string; sentence: string }[];
  shares: { resource: string; share: number; percent: number; time: string }[];
  lanes: { name: string; warps: number; busy: number; idle: number; waits: { name: string; share: number }[] }[];
  usage: { name: string; share: number }[];
}

interface RunHeader {
  kernel: string; gpu: string; verdict: string; cycles: number; stuck: number | null; clockGhz: number;
  figures: [string, string][]; findings: FindingText[]; sms: number;
  names: string[]; operands: [string, string][][]; places: Place[]; files: SourceFile[];
  tracks: Track[]; lanes: LaneOfRun[]; barriers: { cta: number; name: string }[]; signals: string[];
  ctas: Cta[]; tiles: TileOfRun[]; groups: { label: string; ctas: number[] }[]; shown: number[];
  roofline: Roofline | null; bound: Bound | null; columns: Record<string, Column>;
}

export interface Header { title: string; stages: string[]; runs: RunHeader[]; window: [number, number] | null; differences: string[] }

/** Intervals as columns, those of one track together and by their start. */
export interface Intervals {
  count: number;
  track: Uint32Array; start: Float64Array; end: Float64Array; activity: Uint8Array;
  name: Uint32Array; operands: Uint32Array;
  /** Each is one more than its index or number; 0 is none. */
  place: Uint32Array; stage: Uint32Array; barrier: Uint32Array; phase: Uint32Array; cause: Uint32Array;
  /** Of a copy: cycles from its start until its bytes move, and from when they have moved to its end. */
  before: Float64Array; behind: Float64Array;
}

/** Changes of mbarriers as columns, in the order of time. */
export interface Changes {
  count: number;
  time: Float64Array; barrier: Uint32Array; source: Uint32Array; signal: Uint32Array;
  phase: Uint32Array; pending: Float64Array; tx: Float64Array; place: Uint32Array;
}

export interface Run extends RunHeader {
  index: number;
  intervals: Intervals; changes: Changes;
  /** First interval of each track; one more entry than tracks. */
  firstOf: Uint32Array;
  /** The changes of each barrier, in the order of time. */
  changesOf: Uint32Array[];
}

export interface Page { title: string; stages: string[]; runs: Run[]; window: [number, number] | null; differences: string[] }

async function inflate(text: string): Promise<Uint8Array> {
  const binary = atob(text.trim());
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** The integers of a column: planes of bytes, the lowest first; signed ones are stored zigzag. */
function integers(payload: Uint8Array, column: Column): Float64Array {
  const { at, width, length, signed } = column;
  const out = new Float64Array(length);
  for (let plane = 0, weight = 1; plane < width; plane++, weight *= 256) {
    const from = at + plane * length;
    for (let i = 0; i < length; i++) out[i] += payload[from + i] * weight;
  }
  if (signed) for (let i = 0; i < length; i++) out[i] = out[i] % 2 ? -(out[i] + 1) / 2 : out[i] / 2;
  return out;
}

function run(header: RunHeader, index: number, payload: Uint8Array): Run {
  const numbers = (name: string) => integers(payload, header.columns[name]);
  const small = (name: string) => Uint32Array.from(numbers(name));
  const scaled = (name: string) => numbers(name).map((value) => value / header.columns[name].scale);

  const counts = numbers("track");
  const firstOf = new Uint32Array(counts.length + 1);
  counts.forEach((count, i) => { firstOf[i + 1] = firstOf[i] + count; });
  const total = firstOf[counts.length];
  const track = new Uint32Array(total), start = new Float64Array(total), end = new Float64Array(total);
  const gap = numbers("gap"), length = numbers("length"), scale = header.columns["gap"].scale;
  for (let t = 0; t < counts.length; t++) {
    let at = 0;
    for (let i = firstOf[t]; i < firstOf[t + 1]; i++) {
      track[i] = t;
      start[i] = (at += gap[i]) / scale;
      end[i] = (at += length[i]) / scale;
    }
  }
  const time = scaled("change.time");
  for (let i = 1; i < time.length; i++) time[i] += time[i - 1];
  const barrier = small("change.barrier");
  const changesOf: number[][] = header.barriers.map(() => []);
  barrier.forEach((b, i) => changesOf[b].push(i));
  return {
    ...header, index, firstOf,
    intervals: {
      count: total, track, start, end, activity: Uint8Array.from(numbers("activity")), name: small("name"),
      operands: small("operands"), place: small("place"), stage: small("stage"), barrier: small("barrier"),
      phase: small("phase"), cause: small("cause"), before: scaled("before"), behind: scaled("behind"),
    },
    changes: {
      count: time.length, time, barrier, source: small("change.source"), signal: small("change.signal"),
      phase: small("change.phase"), pending: numbers("change.pending"), tx: numbers("change.tx"), place: small("change.place"),
    },
    changesOf: changesOf.map((list) => Uint32Array.from(list)),
  };
}

/** Reads a block. */
export async function read(text: string): Promise<Page> {
  const bytes = await inflate(text);
  const size = new DataView(bytes.buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + size))) as Header;
  const payload = bytes.subarray(4 + size);
  return { ...header, runs: header.runs.map((each, index) => run(each, index, payload)) };
}
