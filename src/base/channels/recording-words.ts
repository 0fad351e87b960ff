/** How errors begin that a replayed recording gives for calls that nobody made while it was recorded. */
export const NOT_RECORDED = 'this is a recording: ';
