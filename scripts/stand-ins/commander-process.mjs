// The global one: whoever imports it has Node load what each of its properties needs.
export default globalThis.process;
