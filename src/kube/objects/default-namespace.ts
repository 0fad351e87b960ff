/** The default namespace of objects. */
export const DEFAULT_NAMESPACE = 'default';
