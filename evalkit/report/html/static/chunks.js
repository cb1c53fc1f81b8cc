// Samples: compressed blocks inside the page, or in files beside it when there are many.

const waiting = new Map();
const opened = new Map();

// Files beside the page call this; scripts may be loaded from disk where other files may not.
globalThis.evalkitSamples = (key, digest, data) => waiting.get(key)?.(digest, data);

export class MissingBlock extends Error {}

/** The content of a block, [key, digest], read once. */
export function block([key, digest], folder) {
  if (!opened.has(key)) {
    const reading = read(key, digest, folder);
    reading.catch(() => opened.delete(key));
    opened.set(key, reading);
  }
  return opened.get(key);
}

async function read(key, digest, folder) {
  const inside = document.getElementById(`samples-${key}`);
  const packed = inside ? inside.textContent : await beside(key, digest, folder);
  const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).json();
}

function beside(key, digest, folder) {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    const end = (settle, value) => {
      waiting.delete(key);
      script.remove();
      settle(value);
    };
    waiting.set(key, (found, data) =>
      found === digest
        ? end(resolve, data)
        : end(reject, new MissingBlock(`${folder}/${key}.js belongs to another report`)),
    );
    script.addEventListener("error", () =>
      end(reject, new MissingBlock(`${folder}/${key}.js is not beside this page`)),
    );
    script.src = `${encodeURIComponent(folder)}/${key}.js`;
    document.head.append(script);
  });
}
