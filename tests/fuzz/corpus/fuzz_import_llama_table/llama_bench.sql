INSERT INTO test (avg_ts, n_gen, n_prompt, cpu_info) VALUES ('32.0', '64', '0', 'it''s'), ('1', '2', '3', '4');
INSERT INTO llama_bench VALUES ('0');
INSERT INTO llama_bench (avg_ts, n_gen, n_prompt) VALUES ('16.0', '64