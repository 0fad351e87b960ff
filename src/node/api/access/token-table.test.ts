import { describe, expect, it } from 'vitest';
import { TokenTable } from './token-table.js';

describe('a token file', () => {
  it('says who has which token', () => {
    const table = TokenTable.parse(
      '# scrapers\ns3cret-1,prometheus,1\r\n\n"s3cret-2", "ops, night" , 2 ,"system:masters, ops"\ns3cret-3,x,3,ops',
    );
    expect(table.size).toBe(3);
    expect(table.find('s3cret-1')).toMatchObject({ name: 'prometheus', groups: [] });
    expect(table.find('s3cret-2')).toMatchObject({ name: 'ops, night', groups: ['system:masters', 'ops'] });
    expect(table.find('s3cret-3')).toMatchObject({ groups: ['ops'] });
    for (const other of ['', 's3cret', 's3cret-1 ', 'S3CRET-1', '# scrapers']) {
      expect(table.find(other)).toBeUndefined();
    }
  });

  it.each([
    ['s3cret', 'line 1 is not'],
    ['ok,a,1\ns3cret,b', 'line 2 is not'],
    ['s3cret,b,1,g,more', 'line 1 is not'],
    ['"s3cret,b,1', 'line 1 is not'],
    [',b,1', 'line 1 has no token'],
    ['s3cret,,1', 'line 1 has no user'],
    ['s3cret,b,', 'line 1 has no uid'],
    ['s3 cret,b,1', 'no header can carry'],
    ['s3cret,a,1\ns3cret,b,2', 'there twice'],
  ])('that reads %j is refused by its line number, without its content', (text, why) => {
    expect(() => TokenTable.parse(text)).toThrow(why);
    expect(() => TokenTable.parse(text)).not.toThrow('s3cret');
  });
});
