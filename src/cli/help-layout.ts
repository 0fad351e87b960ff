import { type Help, type HelpConfiguration } from 'commander';

const INDENT = 2;
/** Between a flag and its description. */
const GAP = 2;
/** The widest column of flags; the description of a longer flag begins on the next line. */
const MAX_TERM_WIDTH = 30;
/** Descriptions get at least this width, at the cost of the column of flags, where the terminal has it. */
const MIN_TEXT_WIDTH = 40;
/** The narrowest column of flags: it is only an indentation then, with each description below its flag. */
const MIN_TERM_WIDTH = 4;

/**
 * The layout of help: flags on the left, wrapped descriptions on the right.
 *
 * Commander makes the left column as wide as the longest flag and stops wrapping when too little is left, as at 80
 * columns beside a flag of 57. Here a long flag gets a line of its own instead.
 */
export function helpLayout(): HelpConfiguration {
  return {
    minWidthToWrap: 1,
    padWidth: (command, helper) => {
      const longest = Math.max(
        helper.longestOptionTermLength(command, helper),
        helper.longestSubcommandTermLength(command, helper),
        helper.longestArgumentTermLength(command, helper),
      );
      const room = widthOf(helper) - INDENT - GAP - MIN_TEXT_WIDTH;
      return Math.max(MIN_TERM_WIDTH, Math.min(longest, MAX_TERM_WIDTH, room));
    },
    formatItem: (term, termWidth, description, helper) => {
      const start = ' '.repeat(INDENT) + term;
      if (description === '') return start;
      const column = INDENT + termWidth + GAP;
      const lines = helper.boxWrap(description, Math.max(1, widthOf(helper) - column)).split('\n');
      const text = lines.join(`\n${' '.repeat(column)}`);
      if (helper.displayWidth(term) > termWidth) return `${start}\n${' '.repeat(column)}${text}`;
      return start.padEnd(column) + text;
    },
  };
}

function widthOf({ helpWidth = 80 }: Help): number {
  return helpWidth;
}
