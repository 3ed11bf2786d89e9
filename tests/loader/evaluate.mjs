// Loads each model with llama.cpp and evaluates tokens.
// usage: node evaluate.mjs FOLDER_WITH_NODE_MODULES < lines of "PATH PARAMETERS WEIGHT_BYTES"
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { readFileSync } from "node:fs";
import path from "node:path";

const from = createRequire(path.join(path.resolve(process.argv[2]), "x.js"));
const { getLlama } = await import(pathToFileURL(from.resolve("node-llama-cpp")));
// one thread: more of them wait for each other by spinning, which takes minutes on a busy machine
const llama = await getLlama({ build: "never", gpu: false, skipDownload: true, maxThreads: 1 });
let passed = 0, failed = 0;
function is(name, holds, detail = "") {
    if (holds) { passed++; return; }
    failed++;
    console.log(`FAILED ${name} ${detail}`);
}

async function evaluate(file, weightBytes) {
    const model = await llama.loadModel({ modelPath: file });
    const name = path.basename(file);
    // its size is what llama-bench prints
    is(`${name}: weight bytes`, model.size === weightBytes, `${model.size}, expected ${weightBytes}`);
    const text = "One token a byte: 0123456789, blanks too.";
    const words = model.tokenize(text);
    is(`${name}: a token a byte`, words.length === text.length, `${words.length}`);
    is(`${name}: and back`, model.detokenize(words) === text, model.detokenize(words));
    const context = await model.createContext({ contextSize: 512, threads: 1 });
    const sequence = context.getSequence();
    const vocabulary = model.fileInfo.metadata.tokenizer.ggml.tokens.length;
    const prompt = Array.from({ length: 128 }, (_, i) => (i * 7919 + 261) % vocabulary);
    const seen = [];
    for await (const { token, probabilities } of sequence.evaluateWithMetadata(prompt, { probabilities: true }, { temperature: 0 })) {
        const all = [...probabilities.values()];
        const sum = all.reduce((a, b) => a + b, 0);
        is(`${name}: probabilities`, all.every(Number.isFinite) && Math.abs(sum - 1) < 1e-3 && all[0] < 0.99, `sum ${sum}, first ${all[0]}`);
        seen.push(token);
        if (seen.length === 8) break;
    }
    is(`${name}: tokens come out`, seen.length === 8, `${seen.length}`);
    console.log(`${name}: ${model.typeDescription}, ${prompt.length} tokens in, out ${seen.join(" ")}`);
    await context.dispose();
    await model.dispose();
}

for (const line of readFileSync(0, "utf8").trim().split("\n")) {
    const [file, , bytes] = line.split(" ");
    try {
        await evaluate(file, Number(bytes));
    } catch (error) {
        is(`${path.basename(file)}: loads`, false, String(error));
    }
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
