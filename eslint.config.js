// Lint rules that the compiler cannot hold and that need no types: no ambient clock, random or environment. Those that need types are in
// .oxlintrc.json: no floating promises, whole switches.
import js from '@eslint/js';
import tseslint from 'typescript-eslint';

const ambient = [
  {
    selector: "CallExpression[callee.object.name='Date'][callee.property.name='now']",
    message: 'Take the time from the clock port.',
  },
  { selector: "NewExpression[callee.name='Date'][arguments.length=0]", message: 'Take the time from the clock port.' },
  {
    selector: "CallExpression[callee.object.name='Math'][callee.property.name='random']",
    message: 'Take randomness from the ids port.',
  },
  {
    selector: "MemberExpression[object.name='process'][property.name='env']",
    message: 'config.ts is the only reader of the environment.',
  },
];

// A comment begins with its subject: these words begin a clause that leaves the reader to guess it.
const BEGINNING =
  /^(Of|What|Where|Whoever|Whatever|Whose|Who|The same|So much|So many|Nobody|Somebody|Told|Said|Bound:)(?![\w-])/;

/** The comments of a file; line comments in a row are one. */
const blocksOf = (sourceCode) => {
  const blocks = [];
  for (const comment of sourceCode.getAllComments()) {
    const last = blocks.at(-1);
    const own = sourceCode.lines[comment.loc.start.line - 1].slice(0, comment.loc.start.column).trim() === '';
    const goesOn = comment.type === 'Line' && last?.isLine === true && own && last.end === comment.loc.start.line - 1;
    if (goesOn) last.end = comment.loc.end.line;
    else blocks.push({ comment, isLine: comment.type === 'Line' && own, end: comment.loc.end.line });
  }
  return blocks.map(({ comment }) => comment);
};

const english = {
  rules: {
    beginnings: {
      create: ({ sourceCode, report }) => ({
        Program: () => {
          for (const comment of blocksOf(sourceCode)) {
            const found = BEGINNING.exec(comment.value.replace(/^[\s*]+/, ''));
            if (found !== null)
              report({
                loc: comment.loc,
                message: `A comment does not begin with "${found[1]}". Name the subject first: who does what to what.`,
              });
          }
        },
      }),
    },
  },
};

export default tseslint.config(
  {
    ignores: [
      'build/**',
      '.build-*/**',
      'node_modules/**',
      '.tap/**',
      'data/**',
      'coverage/**',
      '**/*.gen.ts',
      'packages/*/dist/**',
      'site/.astro/**',
    ],
  },
  js.configs.recommended,
  ...tseslint.configs.recommended,
  { files: ['**/*.ts', '**/*.tsx', '**/*.js'], plugins: { english }, rules: { 'english/beginnings': 'error' } },
  {
    files: ['**/*.ts', '**/*.tsx'],
    rules: {
      '@typescript-eslint/no-empty-object-type': ['error', { allowInterfaces: 'with-single-extends' }],
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      'no-console': 'error',
      eqeqeq: 'error',
      'no-control-regex': 'off',
      'no-restricted-syntax': ['error', ...ambient],
    },
  },
  {
    files: ['src/**/*.ts'],
    rules: { 'max-lines-per-function': ['warn', { max: 100 }], 'max-lines': ['warn', { max: 600 }] },
  },
  {
    files: ['src/adapters/**/*.ts', 'src/service/settings/config.ts'],
    rules: { 'no-restricted-syntax': 'off' },
  },
  {
    files: ['src/main.ts', 'src/cli/**/*.ts', 'src/service/settings/env-example.ts', 'test/**/*.ts', 'bench/**/*.ts'],
    rules: { 'no-console': 'off' },
  },
  {
    files: ['test/**/*.ts', 'bench/**/*.ts', 'dashboard/**/*.ts', 'dashboard/**/*.tsx', 'packages/**/*.ts'],
    rules: { 'no-restricted-syntax': 'off' },
  },
  {
    files: ['bin/**/*.js', 'site/**/*.js', '*.js', '*.cjs'],
    languageOptions: {
      globals: {
        process: 'readonly',
        Buffer: 'readonly',
        URL: 'readonly',
        Response: 'readonly',
        console: 'readonly',
        module: 'writable',
      },
    },
  },
);
