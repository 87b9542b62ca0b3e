// The search calls what it finds in the glossary by its name: "Glossary > LayerNorm".  Sphinx asks for a score, and we keep its own.
Scorer.score = (result) => {
  const id = /^#(?:term|letter)-(.+)/.exec(result[2] ?? "")?.[1];
  if (id && !result[1].includes(" > ")) {
    const entries = Object.entries(Search._index.indexentries); // "[class] token" has a number for its id
    const name = /^\d+$/.test(id) ? entries.find(([, places]) => places.some(([, place]) => `#${place}` === result[2]))?.[0] : id;
    result[1] += ` > ${(name ?? id).replaceAll("-", " ")}`;
  }
  return result[4];
};
