/** Each tries to run for ever, to take all memory, to flood, or to get out. `input.input` is the text "x". */
export const HOSTILE_PROGRAMS: Record<string, string> = {
  // time
  "an endless loop": "while (true) {}",
  "an endless loop that does something": "let n = 0; for (;;) n = (n * 31 + 7) % 1e9;",
  "a loop in a getter": "return { get a() { for (;;) {} } };",
  "a loop in toJSON": "return { toJSON() { for (;;) {} } };",
  "a loop in a proxy trap": "return JSON.stringify(new Proxy({}, { ownKeys() { for (;;) {} } }));",
  "a loop in a valueOf": "return +{ valueOf() { for (;;) {} } };",
  "a generator without end": "function* g() { for (;;) yield 1; } let s = 0; for (const x of g()) s += x;",
  "a promise storm": "const f = () => Promise.resolve().then(f); await f();",
  "a storm of many promises":
    "const f = () => { for (let i = 0; i < 100; i++) Promise.resolve().then(f); }; f(); await new Promise(() => {});",
  "an async loop": "for (;;) await null;",
  "a promise that never settles": "await new Promise(() => {});",
  "a thenable that calls back for ever":
    "const t = { then(r) { r(t2); } }; const t2 = { then(r) { r(t); } }; await t;",
  "a regular expression that blows up": "return /^(a+)+$/.test('a'.repeat(40) + 'b');",
  "another one": "return /(x+x+)+y/.exec('x'.repeat(60));",
  "a third one": "return /^(([a-z])+.)+[A-Z]([a-z])+$/.test('a'.repeat(60));",
  "a sort that never agrees":
    "return new Array(200000).fill(0).map((_, i) => i).sort(() => { for (let i = 0; i < 1e4; i++); return 1; }).length;",
  "a huge number": "let x = 2n; for (;;) x = x ** 2n;",
  "a huge factorial": "let x = 1n; for (let i = 1n; ; i++) x *= i;",
  "a catch that starts over": "for (;;) { try { for (;;) {} } catch {} }",
  "a finally that starts over": "const f = () => { try { for (;;) {} } finally { f(); } }; f();",
  // memory
  "an array without end": "const a = []; for (;;) a.push(a.length + 'x');",
  "a string that doubles": "let s = 'x'; for (;;) s += s;",
  "one huge string": "return 'x'.repeat(2 ** 29).length;",
  "many huge strings": "const a = []; for (;;) a.push('x'.repeat(1e6) + a.length);",
  "huge buffers": "const a = []; for (;;) a.push(new Uint8Array(1e7).fill(1));",
  "one huge buffer": "return new ArrayBuffer(2 ** 31).byteLength;",
  "a map without end": "const m = new Map(); for (let i = 0; ; i++) m.set(i, { i });",
  "a deep recursion": "const f = (n) => f(n + 1) + 1; return f(0);",
  "a recursion through JSON":
    "let o = {}; const top = o; for (let i = 0; i < 1e6; i++) o = o.a = {}; return top;",
  "a cyclic result": "const a = {}; a.a = a; return a;",
  "a recursion through toString": "const o = { toString() { return '' + o; } }; return '' + o;",
  "closures without end":
    "let f = () => 1; for (;;) { const g = f; const big = new Array(100).fill(g); f = () => g() + big.length; }",
  // too much
  "a huge result": "return 'x'.repeat(5e6);",
  "a huge array as result": "return new Array(2e5).fill('xxxxxxxxxx');",
  "a flood of calls":
    "for (let i = 0; i < 1000; i++) tools.call('echo_it', { input: String(i) }); await new Promise(() => {});",
  "a flood of calls one by one": "for (let i = 0; ; i++) await tools.call('echo_it', { input: 'x' });",
  "a huge argument": "return await tools.call('echo_it', { input: 'x'.repeat(4e6) });",
  "a tool that isn't named": "return await tools.call('apply_patch', { patch: 'x' });",
  tool_create: "return await tools.call('tool_create', { action: 'list' });",
  // getting out: each throws, because there is nothing there
  "process through a constructor": "return this.constructor.constructor('return process')().env;",
  "process through a function": "return Function('return process')().pid;",
  "process through an error":
    "try { null.x } catch (e) { return e.constructor.constructor('return process.env')(); }",
  "process through a tool's promise":
    "const p = tools.call('echo_it', { input: 'x' }); return p.constructor.constructor('return process.env')();",
  "process through the input": "return input.constructor.constructor('return process.env')();",
  require: "return require('fs').readFileSync('/etc/passwd', 'utf8');",
  "an import": "return (await import('node:fs')).readFileSync('/etc/passwd', 'utf8');",
  "an import by name": "return await import('tool2');",
  fetch: "return await fetch('http://127.0.0.1/');",
  "a timer": "return setTimeout(() => {}, 1);",
  "a worker": "return new Worker('x');",
  "shared memory": "return Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);",
  WebAssembly: "return WebAssembly.Memory.name;",
  "the host function once more": "return await globalThis.__host('echo_it', '{}');",
  "a polluted prototype":
    "Object.prototype.value = 'polluted'; Object.prototype.isError = false; return ({}).nope.x;",
  "a replaced promise":
    "Promise.prototype.then = () => { throw new Error('no') }; return await tools.call('echo_it', { input: 'x' }).nope.x;",
  "an exit": "std.exit(1);",
  "a debugger that throws odd things": "throw { toString() { for (;;) {} } };",
  "a thrown proxy": "throw new Proxy({}, { get() { throw 1; } });",
  // more time
  "a loop in a stack trace":
    "Error.prepareStackTrace = () => { for (;;) {} }; return String(new Error('x').stack);",
  "a loop in a species":
    "class A extends Array { static get [Symbol.species]() { return function () { for (;;) {} }; } } return new A(1, 2).map((x) => x);",
  "a loop in an argument's keys":
    "return await tools.call('echo_it', new Proxy({}, { ownKeys() { for (;;) {} } }));",
  "a loop in an argument's getter": "return await tools.call('echo_it', { get input() { for (;;) {} } });",
  "a loop in a tool's name": "return await tools.call({ toString() { for (;;) {} } }, {});",
  "a loop in a result's then": "return { get then() { for (;;) {} } };",
  "thenables that hand on for ever": "return { then(r) { r({ then(r2) { r2(this); } }); } };",
  "a loop in an error's message":
    "const e = new Error('x'); Object.defineProperty(e, 'message', { get() { for (;;) {} } }); throw e;",
  "a loop before anything is exported": "for (;;) {} export default () => 1;",
  "a wait before anything is exported": "await new Promise(() => {}); export default () => 1;",
  "a search in an endless array": "return Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);",
  "an endless join": "return new Array(4e9).join('x').length;",
  "an eval without end": "for (;;) eval('1 + 1');",
  "promises that double":
    "const f = () => new Promise((r) => r()).then(() => Promise.all([f(), f()])); await f();",
  "a queue that only grows": "for (;;) Promise.resolve().then(() => {});",
  "words that blow up": "return /^(\\w+\\s?)*$/.test('a'.repeat(50) + '!');",
  "an iterator without end":
    "return Array.from({ [Symbol.iterator]: () => ({ next: () => ({ done: false }) }) }).length;",
  "a set that is never finished": "const s = new Set([1]); for (const x of s) { s.delete(x); s.add(x + 1); }",
  "a raw string of holes": "return String.raw({ raw: { length: 2 ** 53 - 1 } }).length;",
  "an array turned round": "return Array.prototype.reverse.call({ length: 2 ** 53 - 1 }).length;",
  // more memory
  "floats without end": "const a = []; for (;;) a.push(new Float64Array(1e6).fill(1));",
  "a buffer that grows":
    "const b = new ArrayBuffer(1, { maxByteLength: 2 ** 31 }); b.resize(2 ** 31 - 1); return 1;",
  "a shared buffer": "return new SharedArrayBuffer(2 ** 31).byteLength;",
  "a pattern of parentheses": "return new RegExp('('.repeat(50000) + ')'.repeat(50000)).test('');",
  "a text of brackets": "return JSON.parse('['.repeat(1e6));",
  "source of parentheses": "return eval('('.repeat(1e5) + '1' + ')'.repeat(1e5));",
  "arrays in arrays": "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a.flat(Infinity).length;",
  "proxies of proxies": "let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); return p.x;",
  "a long line of prototypes":
    "let o = {}; for (let i = 0; i < 1e6; i++) o = Object.create(o); return 'x' in o;",
  "functions bound to functions": "let f = () => 1; for (let i = 0; i < 1e5; i++) f = f.bind(); return f();",
  "weak maps of weak maps":
    "const m = new WeakMap(); let k = {}; for (;;) { const n = {}; m.set(n, k); k = n; }",
  "a huge padding": "return 'x'.padEnd(2 ** 29, 'ab').length;",
  "a huge power": "return (2n ** 10000000n).toString().length;",
  // more ways out
  "process through an async generator":
    "return (async function* () {}).constructor('yield process')().next();",
  "process through a generator":
    "return Object.getPrototypeOf(function* () {}).constructor('return process')().next();",
  "the host function before it is hidden":
    "const h = globalThis.__host; export default async () => await h('tool_create', '{}');",
  "WebAssembly from bytes": "return WebAssembly.instantiate(new Uint8Array([0, 97, 115, 109]));",
  "a wait on shared memory": "return await Atomics.waitAsync(new Int32Array(8), 0, 0).value;",
  "an import of data": "return await import('data:text/javascript,export default 1');",
  "a print": "print('{}');",
  "a console": "console.log('{}');",
  "no default export": "export const a = 1;",
  "a big integer as result": "return 1n;",
  "a cyclic argument": "const a = {}; a.a = a; return await tools.call('echo_it', a);",
  "many calls at once":
    "return await Promise.all(Array.from({ length: 500 }, () => tools.call('echo_it', { input: 'x' })));",
  "a result of escapes": "return '\\u0000'.repeat(400000);",
  "nothing thrown": "throw undefined;",
  "a huge message": "throw new Error('x'.repeat(1e7));",
};
