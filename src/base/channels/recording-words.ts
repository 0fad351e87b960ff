/** The prefix of errors in a replay for calls that nobody made during the recording. */
export const NOT_RECORDED = 'this is a recording: ';
