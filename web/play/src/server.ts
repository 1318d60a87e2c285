// Requests to the server. The token comes in the fragment of the address, and is sent with each request.

import type { RunEvent, RunRequest } from "./protocol.ts";

/** An answer that is an error: its status, its body and one sentence. */
export class Refused extends Error {
  constructor(readonly status: number, readonly body: Record<string, unknown>, sentence: string) {
    super(sentence);
  }
}

const KEY = "tirx-play-token";

/** Takes the token out of the address. It stays in the session of the tab, so that a reload works. */
export function takeToken(): string {
  const found = /^#token=([0-9a-f]+)$/.exec(location.hash);
  if (location.hash) history.replaceState(null, "", location.pathname);
  if (found) sessionStorage.setItem(KEY, found[1]);
  return found?.[1] ?? sessionStorage.getItem(KEY) ?? "";
}

export class Server {
  constructor(private readonly token: string) {}

  async get<T>(path: string): Promise<T> {
    return (await this.ask(path, {})).json() as Promise<T>;
  }

  async post<T>(path: string, body: object, signal?: AbortSignal): Promise<T> {
    return (await this.send(path, body, signal)).json() as Promise<T>;
  }

  async file(path: string, body: object): Promise<Blob> {
    return (await this.send(path, body)).blob();
  }

  /** The events of a run as they arrive. Aborting the signal ends the run on the server. */
  async *run(body: RunRequest, signal: AbortSignal): AsyncGenerator<RunEvent> {
    const answer = await this.send("/run", body, signal);
    const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
    let parts: string[] = []; // of the line that is not whole yet
    for (;;) {
      const { done, value } = await reader.read();
      const [first, ...others] = (value ?? "").split("\n");
      parts.push(first);
      for (const next of others) {
        const line = parts.join("");
        parts = [next];
        if (line.trim()) yield JSON.parse(line) as RunEvent;
      }
      if (done) break;
    }
    const rest = parts.join("");
    if (rest.trim()) yield JSON.parse(rest) as RunEvent;
  }

  private send(path: string, body: object, signal?: AbortSignal): Promise<Response> {
    return this.ask(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal });
  }

  private async ask(path: string, init: RequestInit): Promise<Response> {
    const answer = await fetch(path, { ...init, headers: { ...init.headers, Authorization: `Bearer ${this.token}` } });
    if (answer.ok) return answer;
    const body = (await answer.json().catch(() => ({}))) as Record<string, unknown>;
    const sentence = answer.status === 401
      ? "The server does not accept the token: open the address that `tirx play` printed."
      : String(body.error ?? `The server answered ${path} with status ${answer.status}.`);
    throw new Refused(answer.status, body, sentence);
  }
}

export const isAbort = (error: unknown): boolean => error instanceof DOMException && error.name === "AbortError";

/** An error of a request as one sentence. */
export const sentenceOf = (error: unknown): string =>
  error instanceof Refused ? error.message : "The server does not answer: start `tirx play` again.";
