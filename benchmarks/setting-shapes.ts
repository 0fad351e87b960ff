/** What the value of a setting has to look like; told before anything is measured. */
export interface SettingShape {
  /** What would be right, for the error: `a whole number from 1 to 500`. */
  readonly words: string;
  readonly accepts: (text: string) => boolean;
}

/** Bounds of a number. */
export interface CountLimits {
  /** 1 unless told. */
  readonly least?: number;
  readonly most: number;
  /** Of which it has to be a multiple: containers come in pods of so many. */
  readonly multipleOf?: number;
}

/** A whole number, in plain digits. */
export function count({ least = 1, most, multipleOf = 1 }: CountLimits): SettingShape {
  const multiple = multipleOf === 1 ? '' : `, a multiple of ${multipleOf}`;
  return {
    words: `a whole number from ${Math.max(least, multipleOf)} to ${most}${multiple}`,
    accepts: (text) => {
      const value = Number(text);
      return /^[1-9]\d*$/.test(text) && value >= least && value <= most && value % multipleOf === 0;
    },
  };
}

/** Several of a shape with commas between, none of them twice: each is measured once. */
export function listOf({ words, accepts }: SettingShape): SettingShape {
  return {
    words: `one or several with commas between, none twice, each ${words}`,
    accepts: (text) => {
      const parts = text.split(',');
      return parts.every(accepts) && new Set(parts).size === parts.length;
    },
  };
}

/** One of so many names. */
export function oneOf(names: readonly string[]): SettingShape {
  return { words: `one of ${names.join(', ')}`, accepts: (text) => names.includes(text) };
}

/** Seconds of a part of a run: nobody waits for more than a day. */
export const SECONDS = count({ most: 86_400 });
/** For whatever is counted and has no limit of its own: more is a slip, and would go on for ever. */
export const ANY_COUNT = count({ most: 100_000 });
