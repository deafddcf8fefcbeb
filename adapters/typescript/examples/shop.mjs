// A shop with tidegate inside, with the official SDK `@modelcontextprotocol/server`.
//
//     node shop.mjs        on stdin and stdout
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { register } from './stock.mjs';
import { Tidegate } from 'tidegate';

const tidegate = new Tidegate({ server: 'shop' });
serveStdio(() => tidegate.wrap(register(new McpServer({ name: 'shop', version: '1.0.0' }), tidegate)));
