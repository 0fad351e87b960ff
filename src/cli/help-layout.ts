import { type AddHelpTextContext, type Command, type Help, type HelpConfiguration } from 'commander';

const INDENT = 2;
/** Into a pipe. */
const USUAL_WIDTH = 80;
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

function widthOf({ helpWidth = USUAL_WIDTH }: Help): number {
  return helpWidth;
}

/**
 * The text behind the flags, for `addHelpText('after', …)`: paragraphs are wrapped to the terminal, and so are the comments of
 * examples (`  # …`). A command in an example stays on its line, to be copied.
 */
export function wrapNotes(text: string): (context: AddHelpTextContext) => string {
  return ({ command }) => {
    const width = command.configureOutput().getOutHelpWidth?.() ?? USUAL_WIDTH;
    const paragraphs = text.replaceAll(/(?<=^\S.*)\n(?=\S)/gm, ' ').split('\n');
    return paragraphs.map((line) => wrapLine(line, width)).join('\n');
  };
}

function wrapLine(line: string, width: number): string {
  const start = /^ *# /.exec(line)?.[0] ?? '';
  if (start === '' && line.startsWith(' ')) return line;
  const lines = [start];
  for (const word of line.slice(start.length).split(' ')) {
    const last = lines.at(-1)!;
    const isFirst = last === start;
    if (!isFirst && last.length + 1 + word.length > width) lines.push(start + word);
    else lines[lines.length - 1] = isFirst ? last + word : `${last} ${word}`;
  }
  return lines.join('\n');
}

/** Puts flags of a command below headings in its help, where it has too many for one list. Throws for a flag that it lacks. */
export function groupFlags(command: Command, groups: Readonly<Record<string, readonly string[]>>): Command {
  for (const [heading, flags] of Object.entries(groups)) {
    for (const flag of flags) {
      const option = command.options.find(({ long }) => long === flag);
      if (option === undefined) throw new Error(`${command.name()} has no ${flag}`);
      option.helpGroup(`${heading}:`);
    }
  }
  return command;
}
