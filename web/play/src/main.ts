// The page of `tirx play`: an editor on the left, and on the right what the simulator and the compiler make of its text.

import { byId } from "../../timeline/src/dom.ts";
import { tabs } from "../../timeline/src/tabs.ts";
import { themeSwitch } from "../../timeline/src/theme.ts";
import { Choices } from "./choices.ts";
import { Constants } from "./constants.ts";
import { Course } from "./course.ts";
import { Editor } from "./editor.ts";
import { Modules } from "./modules.ts";
import { type Language, type Recording, type RunRequest, type Session, STAGES, type StageName, type Want } from "./protocol.ts";
import { Results } from "./results.ts";
import { Runs } from "./runs.ts";
import { Saver } from "./save.ts";
import { sentenceOf, Server, takeToken } from "./server.ts";

const BASE: Want[] = ["findings", "timeline", "bound", "product"];

/** What a run does. */
const say = (text: string): void => { byId("status").textContent = text; };
/** What came of something that the reader asked for; it stays until the next key. */
const tell = (text: string): void => { byId("said").textContent = text; };

/** The stage whose tab is open, if one is. */
function openStage(): StageName | null {
  return STAGES.find((name) => !byId(`pane-${name}`).hidden) ?? null;
}

/** What the page has with and without a server: panes, tabs, colours, help. opened: is told of an opened tab. */
function frame(editor: Editor, file: string, opened: () => void): Results {
  const results = new Results(editor, file, say, tell);
  tabs((panel) => {
    if (panel === "pane-timeline") void results.timeline.draw();
    if (panel === "pane-product") results.product.draw();
    results.stages.light(editor.cursorLine, true);
    results.note();
    opened();
  });
  themeSwitch(() => {
    results.timeline.recolour();
    results.product.draw();
  });
  addEventListener("resize", () => results.product.draw());
  const pin = byId("pin");
  pin.addEventListener("click", () => {
    const on = pin.getAttribute("aria-pressed") !== "true";
    pin.setAttribute("aria-pressed", String(on));
    results.pin(on);
    tell(on ? "These results stay beside later ones, in the timeline and the bound." : "");
  });
  const dialog = byId<HTMLDialogElement>("help");
  byId("help-open").addEventListener("click", () => dialog.showModal());
  byId("help-close").addEventListener("click", () => dialog.close());
  return results;
}

function title(session: Session): void {
  document.title = `${session.file} – tirx play`;
  byId("title").textContent = session.file;
  if (!session.stages) return;
  for (const name of STAGES) byId(`tab-${name}`).hidden = !session.stages.includes(name);
  byId("tab-product").hidden = true; // a launch says nothing of what is right
}

/** The editor, and the panes that follow its lines. */
function makeEditor(language: Language | undefined, results: () => Results, changed: () => void, moved: () => void): Editor {
  const nonce = document.querySelector<HTMLMetaElement>('meta[name="nonce"]')!.content;
  return new Editor(byId("editor"), nonce, language ?? "python", {
    changed,
    moved: (line) => {
      moved();
      results().timeline.line(line);
      results().stages.light(line, true);
    },
    hovered: (line) => results().stages.light(line || editorLine(), false),
  });
}

let editorLine = (): number => 0;

/** A page that was exported: it shows one run, without a server. */
function replay(recording: Recording): void {
  const editor = makeEditor(recording.session.language, () => results, () => {}, () => {});
  const results = frame(editor, recording.session.file, () => {});
  editorLine = () => editor.cursorLine;
  title(recording.session);
  for (const id of ["run", "save", "export", "course", "pin"]) byId(id).hidden = true;
  document.querySelector<HTMLElement>(".choices")!.hidden = true;
  editor.load(recording.text);
  editor.lock();
  for (const event of recording.events) results.show(event);
  say("This page was exported: it shows one run.");
}

async function play(): Promise<void> {
  const server = new Server(takeToken());
  const session = await server.get<Session>("/session");
  title(session);
  const editor = makeEditor(session.language, () => results, () => {
    tell("");
    results.outdated();
    runs.edited();
  }, () => course.moved());
  editorLine = () => editor.cursorLine;
  const results = frame(editor, session.file, () => {
    course.draw();
    const stage = openStage();
    if (!stage || results.stages.isCurrent(stage)) return;
    if (runs.mayRun) void runs.stage(stage, (event) => results.show(event));
    else say(runs.manual);
  });
  const chosen = (): void => {
    results.outdated();
    course.draw();
    runs.chosen();
  };
  const choices = new Choices(session, chosen, (line) => editor.reveal(line));
  const course = new Course(server, session, editor, choices, results, chosen, tell);
  const modules = new Modules(session.modules);
  const constants = new Constants(chosen, (line) => editor.goTo(line));
  results.constants = (found) => constants.show(course.drills.drill ? {} : found);
  results.slowly = (run) => course.tellSlowly(run);
  const request = (): Omit<RunRequest, "asked"> | string => {
    const stage = openStage();
    return choices.lack || {
      text: editor.text, kernel: choices.kernel, constants: course.drills.drill ? {} : constants.values, sizes: choices.sizes, gpu: choices.gpu, sms: choices.sms,
      modules: course.drills.drill ? [] : modules.opened, course: course.on, want: stage ? [...BASE, stage] : BASE, ...(course.drills.drill ? { drill: course.drills.drill.id } : {}),
      ...(choices.launch ? { launch: choices.launch } : {}),
    };
  };
  const runs = new Runs(server, session, () => editor.text, request, {
    event: (event) => {
      const unchanged = event.event === "drill" && !event.repaired && course.drills.drill?.text === editor.text;
      if (!unchanged) results.show(event); // the drill itself needs no verdict
    },
    kernels: (kernels, found) => {
      choices.list(kernels);
      if (!course.drills.drill && modules.list(found)) runs.chosen();
    },
    unparsed: (finding) => {
      results.unparsed(finding);
      say("");
    },
    say,
    running: (now) => {
      document.documentElement.toggleAttribute("data-running", now);
      if (!now) byId("progress").hidden = true;
    },
  });
  editor.load(session.text);
  choices.revealKernel();
  const saver = new Saver(server, editor, session, tell, () => course.drills.drill !== null);
  byId("run").addEventListener("click", () => void runs.start(true));
  byId("export").addEventListener("click", () => void exported(server, results, session));
  document.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
    if (event.key === "Enter") void runs.start(true);
    else if (event.key === "s") void saver.save();
    else return;
    event.preventDefault();
  });
  if (session.automatic) void runs.start(false);
  else say(runs.manual);
}

/** Lets the reader keep the last run as a page of its own. */
async function exported(server: Server, results: Results, session: Session): Promise<void> {
  if (results.run === null) return tell("A run comes first: then its page can be exported.");
  try {
    const url = URL.createObjectURL(await server.file("/export", { run: results.run }));
    const link = document.createElement("a");
    link.href = url;
    link.download = `${session.file.replace(/\.\w+$/, "")}.html`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
    tell(`${link.download} is exported.`);
  } catch (error) {
    tell(sentenceOf(error));
  }
}

const recorded = document.getElementById("recorded");
const started = recorded ? Promise.resolve(replay(JSON.parse(recorded.textContent!) as Recording)) : play();
started.catch((error: unknown) => say(sentenceOf(error))).finally(() => { document.documentElement.dataset.ready = ""; });
