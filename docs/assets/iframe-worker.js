// A page that is opened as a file may not start a worker, and the search runs in one. Here a hidden frame runs the
// worker's script instead. Pages from a server keep the browser's workers.
if (location.protocol === "file:") {
  class IFrameWorker extends EventTarget {
    #frame;
    #ready;

    constructor(url) {
      super();
      this.#frame = document.createElement("iframe");
      this.#frame.hidden = true;
      this.#frame.title = "Search";
      document.body.append(this.#frame);
      const inside = this.#frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = inside.document.createElement("script");
      this.#ready = new Promise((resolve, reject) => {
        script.onload = resolve;
        script.onerror = () => reject(new Error(`cannot load ${url}`));
      });
      script.src = new URL(url, location.href).href;
      inside.document.body.append(script);
    }

    postMessage(data) {
      this.#ready.then(() => {
        const inside = this.#frame.contentWindow;
        inside.dispatchEvent(new inside.MessageEvent("message", { data }));
      });
    }

    terminate() {
      this.#frame.remove();
    }
  }

  window.IFrameWorker = IFrameWorker; // the search's script looks for this name
  window.Worker = IFrameWorker;
}
