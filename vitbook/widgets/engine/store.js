// What a browser keeps of the weights for the next page and the next visit, where it keeps anything: not for a page on a disk.

const NAME = "vitbook-model";

/** The bytes kept under an address, or nothing. */
export async function stored(address) {
  try {
    const kept = await (await caches.open(NAME)).match(address);
    return kept && new Uint8Array(await kept.arrayBuffer());
  } catch {
    return undefined; // no store here
  }
}

export async function store(address, bytes) {
  try {
    await (await caches.open(NAME)).put(address, new Response(bytes));
  } catch {
    // no store here, or it is full: then the next visit loads once more
  }
}

/** Removes the weights of other models of this book, so that what is kept does not grow. folder: .../<fingerprint>/ */
export async function forgetOthers(folder, fingerprint) {
  try {
    const all = folder.slice(0, folder.lastIndexOf(fingerprint));
    const cache = await caches.open(NAME);
    const others = (await cache.keys()).filter(({ url }) => url.startsWith(all) && !url.startsWith(folder));
    await Promise.all(others.map((request) => cache.delete(request)));
  } catch {
    // no store here
  }
}
