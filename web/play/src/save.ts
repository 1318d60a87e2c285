// Saving the file. If it has changed on disk, the page shows the difference and asks.

import { byId } from "../../timeline/src/dom.ts";
import { diffRows } from "./diff.ts";
import type { Editor } from "./editor.ts";
import type { Session } from "./protocol.ts";
import { Refused, sentenceOf, type Server } from "./server.ts";
import { Lines } from "./virtual.ts";

export class Saver {
  private digest: string;
  private saved: string;
  private readonly lines = new Lines("conflict-list", "The file on disk against the editor");
  private readonly dialog = byId<HTMLDialogElement>("conflict");

  /** elsewhere: whether the editor has another text than the file's. */
  constructor(private readonly server: Server, private readonly editor: Editor, private readonly session: Session,
    private readonly tell: (text: string) => void, private readonly elsewhere: () => boolean) {
    this.digest = session.digest;
    this.saved = session.text;
    byId("conflict-lines").replaceChildren(this.lines.node);
    byId("save").addEventListener("click", () => void this.save());
    if (!session.writable) byId<HTMLButtonElement>("save").disabled = true;
    addEventListener("beforeunload", (event) => {
      if (this.changed) event.preventDefault();
    });
  }

  /** Whether the text differs from the file as it was last seen. */
  get changed(): boolean { return this.session.writable && this.editor.text !== this.saved; }

  async save(): Promise<void> {
    if (this.elsewhere()) return this.tell("A drill is not saved: your text comes back after it.");
    if (!this.session.writable) return this.tell(`${this.session.file} cannot be written.`);
    const text = this.editor.text;
    try {
      const { digest } = await this.server.post<{ digest: string }>("/save", { text, digest: this.digest });
      this.digest = digest;
      this.saved = text;
      this.tell(`${this.session.file} is saved.`);
    } catch (error) {
      if (error instanceof Refused && error.status === 409) await this.ask(text, error.body as { digest: string; text: string });
      else this.tell(sentenceOf(error));
    }
  }

  private async ask(text: string, disk: { digest: string; text: string }): Promise<void> {
    const rows = diffRows({ text: disk.text, lines: [] }, { text, lines: [] });
    if (!rows.length) { // the same change was made there
      this.digest = disk.digest;
      this.saved = text;
      return this.tell(`${this.session.file} has this text already.`);
    }
    this.dialog.showModal();
    this.lines.show(rows);
    const choice = await new Promise<string>((done) => {
      const buttons = ["write", "take", "cancel"];
      for (const each of buttons) byId(`conflict-${each}`).onclick = () => done(each);
      this.dialog.oncancel = () => done("cancel");
    });
    this.dialog.close();
    if (choice === "cancel") return this.tell(`${this.session.file} is not saved.`);
    this.digest = disk.digest;
    if (choice === "write") return this.save();
    this.saved = disk.text;
    this.editor.replace(disk.text);
    this.tell("The editor has the text of the file.");
  }
}
