import { access, constants } from 'node:fs/promises';
import path from 'node:path';

/** The programs of the suite; each an absolute path. */
export interface E2ePrograms {
  /** Kubernetes' `test/e2e`. */
  readonly suite: string;
  readonly ginkgo: string;
  /** What most of the suite's containers run: Kubernetes' `test/images/agnhost`. */
  readonly agnhost: string;
}

const FILES = { suite: 'e2e.test', ginkgo: 'ginkgo', agnhost: 'agnhost' } as const;

/** Finds them in the folder that `E2E_ASSETS` names, else in that of `KUBEBUILDER_ASSETS`; rejects with what is missing. */
export async function findE2ePrograms(env: NodeJS.ProcessEnv): Promise<E2ePrograms> {
  const folder = [env['E2E_ASSETS'], env['KUBEBUILDER_ASSETS']].find(
    (named) => named !== undefined && named !== '',
  );
  if (folder === undefined) throw new Error('neither E2E_ASSETS nor KUBEBUILDER_ASSETS names a folder');
  const find = async (name: string): Promise<string> => {
    const file = path.resolve(folder, name);
    try {
      await access(file, constants.X_OK);
    } catch (cause) {
      throw new Error(`there is no ${name} in ${folder}; test/e2e/README.md says how it is built`, { cause });
    }
    return file;
  };
  return {
    suite: await find(FILES.suite),
    ginkgo: await find(FILES.ginkgo),
    agnhost: await find(FILES.agnhost),
  };
}
