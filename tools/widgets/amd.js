// anywidget comes as an AMD module. Its factory is kept here; no page needs a module loader for it.
export const amd = {};
export function define(_, factory) {
  amd.anywidget = factory;
}
