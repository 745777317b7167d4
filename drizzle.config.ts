import { defineConfig } from 'drizzle-kit';

export default defineConfig({
  dialect: 'sqlite',
  schema: './src/ledger/schema/schema.ts',
  out: './drizzle',
});
