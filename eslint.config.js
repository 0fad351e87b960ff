// Lint with type information. Every rule that is switched off says why.
import { createTypeScriptImportResolver } from 'eslint-import-resolver-typescript';
import { importX } from 'eslint-plugin-import-x';
import tseslint from 'typescript-eslint';

export default tseslint.config(
  { ignores: ['dist/**', 'node_modules/**', 'src/watch/cri/generated/**', 'coverage/**'] },
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: {
      parserOptions: {
        projectService: { allowDefaultProject: ['*.js'] },
        tsconfigRootDir: import.meta.dirname,
      },
    },
    plugins: { 'import-x': importX },
    settings: {
      'import-x/resolver-next': [
        createTypeScriptImportResolver({
          conditionNames: ['podloop-source', 'types', 'import', 'node', 'default'],
        }),
      ],
    },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true, requireDefaultForNonUnion: false },
      ],
      '@typescript-eslint/no-unnecessary-condition': [
        'error',
        { allowConstantLoopConditions: 'only-allowed-literals' },
      ],
      // Numbers and bigints in messages are what people read; they need no ceremony.
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      // `() => emitter.emit()` is the common idiom for callbacks.
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      // noUncheckedIndexedAccess makes `!` the honest way to say "this index was just checked".
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      'import-x/no-cycle': ['error', { ignoreExternal: true }],
      eqeqeq: 'error',
    },
  },
  {
    // What puts an agent together: no part gets a closure over one that is made later (functions stand where they read best).
    files: ['src/node/agent.ts', 'src/node/parts/**'],
    ignores: ['**/*.test.ts'],
    rules: {
      '@typescript-eslint/no-use-before-define': [
        'error',
        { functions: false, classes: false, typedefs: false },
      ],
    },
  },
  {
    files: ['**/*.test.ts', 'src/testing/**', 'benchmarks/**', 'test/**', 'scripts/**'],
    rules: {
      // A fake often has an async signature to keep and nothing to await.
      '@typescript-eslint/require-await': 'off',
    },
  },
  { files: ['*.js', 'scripts/**/*.mjs', 'test/**/*.mjs'], extends: [tseslint.configs.disableTypeChecked] },
);
