/** What the embedded runtime calls itself in CRI's Version. */
export const EMBEDDED_RUNTIME_NAME = 'podloop-embedded';
