// Numbers for readers.

const whole = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 0 });
const fine = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 1 });
const three = new Intl.NumberFormat("en-GB", { maximumSignificantDigits: 3 });

/** Cycles without their unit: "1,234", or "6.5" where they are few. */
export const cycles = (value: number): string => (Math.abs(value) < 100 ? fine : whole).format(value);

/** The time of that many cycles, as "812 ns" or "1.25 µs". */
export function duration(value: number, clockGhz: number): string {
  const ns = value / clockGhz;
  return Math.abs(ns) < 1000 ? `${three.format(ns)} ns` : `${three.format(ns / 1000)} µs`;
}

export const percent = (share: number): string => `${whole.format(100 * share)}\u00a0%`;

export const significant = (value: number): string => three.format(value);

/** TFLOPS as the report has them. */
export const rate = (tflops: number): string => (tflops >= 10 ? String(Math.round(tflops)) : tflops.toFixed(tflops >= 1 ? 1 : 2));

export const integer = (value: number): string => whole.format(value);

/** "1 interval", "2 intervals". */
export const count = (number: number, what: string): string => `${whole.format(number)} ${what}${number === 1 ? "" : "s"}`;
