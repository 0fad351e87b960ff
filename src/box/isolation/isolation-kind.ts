/** How containers are isolated, as recorded with each sandbox. */
export type IsolationKind = 'namespaces' | 'none';
