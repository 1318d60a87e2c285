// When the text runs: by itself 150 ms after the last key where that is safe, else when the reader asks for it.

import type { Finding, Kernel, RunEvent, RunRequest, Session, StageEvent, StageName } from "./protocol.ts";
import { isAbort, sentenceOf, type Server } from "./server.ts";

const PAUSE = 150, UNPARSED = 1000; // ms after the last key

/** Words as a sentence of its own. */
const sentence = (words: string): string => words[0].toUpperCase() + words.slice(1) + (words.endsWith(".") ? "" : ".");

export interface RunsEvents {
  event(event: RunEvent): void;
  /** The kernels of a text that is parsed, and the modules beside the file that it imports. */
  kernels(kernels: Kernel[], modules: string[]): void;
  unparsed(finding: Finding): void;
  say(text: string): void;
  /** A run has begun (true), or nothing runs any more. */
  running(now: boolean): void;
}

export class Runs {
  private abort: AbortController | null = null;
  private side: AbortController | null = null; // of a stage alone
  private pause = 0;
  private reading = 0;
  /** The text of the last run; null where none was. */
  ranText: string | null = null;

  /** request: what is to run now, or the sentence that says why nothing can. */
  constructor(private readonly server: Server, private readonly session: Session, private readonly text: () => string,
    private readonly request: () => Omit<RunRequest, "asked"> | string, private readonly on: RunsEvents) {}

  /** A key: what runs is superseded. */
  edited(): void {
    this.stop();
    clearTimeout(this.reading);
    this.reading = window.setTimeout(() => void this.read(), UNPARSED);
    if (this.session.automatic) this.pause = window.setTimeout(() => void this.start(false), PAUSE);
    else this.on.say(this.manual);
  }

  /** A choice: the same text runs anew where texts run by themselves, or where this one did. */
  chosen(): void {
    this.stop();
    if (this.mayRun) void this.start(false);
    else this.on.say(this.manual);
  }

  /** Whether the present text may run unasked. */
  get mayRun(): boolean { return this.session.automatic || this.ranText === this.text(); }

  /** How to run a text where it does not run by itself. */
  get manual(): string { return ["Ctrl+Enter runs the text.", ...this.session.missing.map(sentence)].join(" "); }

  stop(): void {
    clearTimeout(this.pause);
    this.side?.abort();
    if (!this.abort) return;
    this.abort.abort();
    this.abort = null;
    this.on.running(false);
  }

  /** asked: the reader asked for it, so that a text that does not parse is told at once. */
  async start(asked: boolean): Promise<void> {
    this.stop();
    const request = this.request();
    if (typeof request === "string") return this.on.say(request);
    const mine = this.abort = new AbortController();
    this.ranText = request.text;
    this.on.running(true);
    this.on.say("The kernel is being built.");
    await this.follow(request, asked, mine, (event) => this.on.event(event));
    if (this.abort !== mine) return;
    this.abort = null;
    this.on.running(false);
  }

  /** Asks for one stage of the present text, beside a run that goes on. */
  async stage(stage: StageName, show: (event: StageEvent) => void): Promise<void> {
    this.side?.abort();
    const request = this.request();
    if (typeof request === "string") return this.on.say(request);
    const mine = this.side = new AbortController();
    await this.follow({ ...request, want: [stage] }, false, mine, (event) => {
      if (event.event === "stage") show(event);
      else if (event.event === "failed") show({ event: "stage", stage, missing: event.title });
    });
  }

  private async follow(request: Omit<RunRequest, "asked">, asked: boolean, mine: AbortController, on: (event: RunEvent) => void): Promise<void> {
    try {
      for await (const event of this.server.run({ ...request, asked: asked || !this.session.automatic }, mine.signal)) {
        if (mine.signal.aborted) return;
        if (event.event === "failed" && [event.what, event.kind].includes("parse") && !asked) return this.on.say("The text does not parse yet.");
        on(event);
      }
    } catch (error) {
      if (!isAbort(error)) this.on.say(sentenceOf(error));
    } finally {
      mine.abort(); // a run that is read no further
    }
  }

  /** Asks which kernels the text has, or why it does not parse. */
  private async read(): Promise<void> {
    const text = this.text();
    try {
      const answer = await this.server.post<{ kernels?: Kernel[]; modules?: string[]; error?: Finding }>("/kernels", { text });
      if (text !== this.text()) return;
      if (answer.error) this.on.unparsed(answer.error);
      else if (answer.kernels) this.on.kernels(answer.kernels, answer.modules ?? []);
    } catch (error) {
      this.on.say(sentenceOf(error));
    }
  }
}
