/** How containers are kept apart: the records of sandboxes say so. */
export type IsolationKind = 'namespaces' | 'none';
