import { Argument, Command } from 'commander';
import { type CliHost } from '../../cli-host.js';
import { completionScript, type Shell, SHELLS } from './completion-script.js';
import { wrapNotes } from '../../help-layout.js';

const HELP = `
Examples:
  # In ~/.bashrc
  source <(podloop completion bash)

  # In ~/.zshrc
  source <(podloop completion zsh)

  # For fish
  podloop completion fish > ~/.config/fish/completions/podloop.fish`;

/** `podloop completion`: the script with which a shell completes commands, flags, and the names that an agent knows. */
export function completionCommand(host: CliHost): Command {
  return new Command('completion')
    .description('Print the shell completion script.')
    .addArgument(new Argument('<shell>', 'Which shell').choices(SHELLS))
    .addHelpText('after', wrapNotes(HELP))
    .action(async (shell: Shell) => {
      await host.stdout.writeLine(completionScript(shell));
      await host.stdout.assertWritten();
    });
}
