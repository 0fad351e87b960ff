import { messageOf } from '#base/errors/errors.js';
import { parseGoDuration } from '#base/time/go-duration.js';

/** Parses a Go duration to milliseconds, or returns the problem, for a message behind field and value. */
export function readDuration(text: string): { readonly ms: number } | { readonly problem: string } {
  try {
    return { ms: parseGoDuration(text, 'duration') };
  } catch (error) {
    return { problem: messageOf(error).replace(/^duration: "[^"]*" /, '') };
  }
}
