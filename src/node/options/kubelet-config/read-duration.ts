import { messageOf } from '#base/errors/errors.js';
import { parseGoDuration } from '#base/time/go-duration.js';

/** A Go duration of a configuration, in milliseconds; or what is wrong with it, to be said behind its field and value. */
export function readDuration(text: string): { readonly ms: number } | { readonly problem: string } {
  try {
    return { ms: parseGoDuration(text, 'duration') };
  } catch (error) {
    return { problem: messageOf(error).replace(/^duration: "[^"]*" /, '') };
  }
}
