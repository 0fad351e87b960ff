/** The namespace of what names none. */
export const DEFAULT_NAMESPACE = 'default';
